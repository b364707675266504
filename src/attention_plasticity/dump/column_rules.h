#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <variant>
#include <vector>

namespace attention_plasticity {

/// A number as a flat column stores it, widened without loss: null, an integer below 2^63, one above, or a real.
using Number = std::variant<std::monostate, std::int64_t, std::uint64_t, double>;

/// Consecutive numbers of a flat column. Those of one kind, nearly all, come as they are.
class NumberBatch {
 public:
  struct Nulls {
    std::size_t count = 0;
  };

  NumberBatch(Nulls nulls) : numbers_(nulls) {}                                // NOLINT(google-explicit-constructor)
  NumberBatch(std::span<const std::int64_t> integers) : numbers_(integers) {}  // NOLINT(google-explicit-constructor)
  NumberBatch(std::span<const double> reals) : numbers_(reals) {}              // NOLINT(google-explicit-constructor)
  NumberBatch(std::span<const Number> mixed) : numbers_(mixed) {}              // NOLINT(google-explicit-constructor)

  std::size_t size() const;
  Number operator[](std::size_t i) const;

  /// None, unless all are integers below 2^63.
  std::optional<std::span<const std::int64_t>> integers() const;
  /// None, unless all are reals.
  std::optional<std::span<const double>> reals() const;
  /// True when they are known to be the same number, or null, throughout; false of an empty batch.
  bool is_constant() const;

 private:
  std::variant<Nulls, std::span<const std::int64_t>, std::span<const double>, std::span<const Number>> numbers_;
};

/// A value that a column's rule does not allow. The text continues a sentence that begins with the column's name.
struct BadValue : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Integers from 0 to 2^63 - 1.
std::int64_t to_bucket(const Number& number);

/// Integers from 0 to 2^63 - 1.
std::uint64_t to_example(const Number& number);

/// Finite numbers >= 0. Integers above 2^53 are rounded.
double to_position(const Number& number);

/// Each appends what its namesake above makes of the numbers, or nothing, and is then false: when they are of several
/// kinds or one of them may not be allowed.
bool append_buckets(const NumberBatch& numbers, std::vector<std::int64_t>& buckets);
bool append_examples(const NumberBatch& numbers, std::vector<std::uint64_t>& examples);
bool append_positions(const NumberBatch& numbers, std::vector<double>& positions);

/// The window in whole tokens, or none for full attention: null, NaN and what is below 1, because a window of a
/// fraction of a token cuts to nothing, and infinity, because it cuts nothing. Every number is allowed.
std::optional<double> to_window(const Number& number);

}  // namespace attention_plasticity

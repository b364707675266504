#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <variant>
#include <vector>

#include "attention_plasticity/base/counted_containers.h"

namespace attention_plasticity {

/// A number of a flat column, widened without loss: null, an integer below 2^63, a larger integer, or a real.
using Number = std::variant<std::monostate, std::int64_t, std::uint64_t, double>;

/// Consecutive numbers of a flat column. Nearly all batches hold one kind of number, which is kept without a variant
/// for each.
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

  /// The numbers, if all are integers below 2^63.
  std::optional<std::span<const std::int64_t>> integers() const;
  /// The numbers, if all are reals.
  std::optional<std::span<const double>> reals() const;
  /// True if all are the same number, or all are null. May be false for a batch of several kinds; false when empty.
  bool is_constant() const;

 private:
  std::variant<Nulls, std::span<const std::int64_t>, std::span<const double>, std::span<const Number>> numbers_;
};

/// Thrown for a value that breaks its column's rule. The text continues a sentence that begins with the column's name.
struct BadValue : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The rules of the columns. Each function returns the value of a number, or throws BadValue.

/// Integers from 0 to 2^63 - 1.
std::int64_t to_bucket(const Number& number);

/// Integers from 0 to 2^63 - 1.
std::uint64_t to_example(const Number& number);

/// Numbers from 0 to 2^53: beyond, a double no longer tells neighbouring tokens apart.
double to_position(const Number& number);

/// Each appends the numbers by the rule above and returns true. When they are of several kinds, or one may break the
/// rule, it appends nothing and returns false.
bool append_buckets(const NumberBatch& numbers, CountedVector<std::int64_t>& buckets);
bool append_examples(const NumberBatch& numbers, CountedVector<std::uint64_t>& examples);
bool append_positions(const NumberBatch& numbers, CountedVector<double>& positions);

/// The window in whole tokens, rounded down; none means full attention. Every number is allowed: null, NaN, infinity
/// and numbers below 1 mean full attention.
std::optional<double> to_window(const Number& number);

}  // namespace attention_plasticity

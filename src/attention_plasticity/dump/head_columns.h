#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "attention_plasticity/base/large_vector.h"

namespace parquet {
class ColumnDescriptor;
}  // namespace parquet

// The columns of a head file: which types they may have, and which values. head_file.h lists them.

namespace attention_plasticity {

/// The kinds of columns of a head file, or of a file of texts.
enum class ColumnKind { integer, number, vector, text };

/// "a list of half, float or double" and alike.
std::string_view wanted(ColumnKind kind);
/// The type of a leaf column, for a message.
std::string describe(const parquet::ColumnDescriptor& leaf);
/// True if a leaf column is of a kind. `is_primitive`: it stands at the top level.
bool allows(ColumnKind kind, const parquet::ColumnDescriptor& leaf, bool is_primitive);

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
bool append_buckets(const NumberBatch& numbers, std::vector<std::int64_t>& buckets);
bool append_examples(const NumberBatch& numbers, std::vector<std::uint64_t>& examples);
bool append_positions(const NumberBatch& numbers, std::vector<double>& positions);

/// The window in whole tokens, rounded down; none means full attention. Every number is allowed: null, NaN, infinity
/// and numbers below 1 mean full attention.
std::optional<double> to_window(const Number& number);

/// A row that breaks a rule of the format, and the rule.
struct RowFault {
  std::size_t row = 0;
  std::string message;
};

/// True if all levels equal `level`, or there are none. Faster than counting them.
inline bool all_are(std::span<const std::int16_t> levels, std::int16_t level) {
  // `differing` is no wider than a level, so that a register compares as many levels as it can hold.
  const auto wanted = static_cast<std::uint16_t>(level);
  std::uint16_t differing = 0;
  for (const std::int16_t other : levels) {
    const auto bits = static_cast<std::uint16_t>(static_cast<std::uint16_t>(other) ^ wanted);
    differing = static_cast<std::uint16_t>(differing | bits);
  }
  return differing == 0;
}

/// Consecutive entries of a list column with their Parquet levels (Melnik et al. 2010, "Dremel"). `repetition` is 0
/// where a row begins; `definition` says how much of the path to a component is not null. Both have one level per
/// entry.
struct VectorChunk {
  std::span<const std::int16_t> definition;
  std::span<const std::int16_t> repetition;
  std::span<const float> values;       ///< one for each entry whose definition is `component_present`, in order
  std::int16_t component_present = 0;  ///< the definition of a component that is not null
  std::int16_t entry_present = 0;      ///< the least definition of a row with entries; one less: an empty list
  std::size_t fitting = 0;             ///< `values` before this index are known to fit in single precision
  double unfit = 0;                    ///< the stored value at `fitting`, if `fitting < values.size()`
};

/// Puts list entries together to vectors of one width, and checks that no vector or component is null.
class VectorColumn {
 public:
  /// Components are appended to `out`. When the width is known, memory for `expected_rows` rows is reserved, but for at
  /// most `most_reserved` components, because the expected number comes from a footer that may lie.
  VectorColumn(LargeVector<float>& out, std::size_t expected_rows, std::size_t most_reserved)
      : out_(out), expected_rows_(expected_rows), most_reserved_(most_reserved) {}

  /// Memory for 1 to `most` components. The next components can be decoded into it and then added without a copy.
  std::span<float> room(std::size_t most);

  /// Adds the next entries of the row group. False: a row breaks a rule (see `fault`), and no more may be added.
  /// Throws std::runtime_error when the levels contradict each other.
  bool add(const VectorChunk& chunk);

  /// Adds the next entries, which the caller has put into the latest `room()`. The caller knows that none is null and
  /// that the current row and those after it have `width` components.
  void add_rows(std::size_t entries, std::size_t width);

  /// Ends a row group: the next chunk must begin a new row. False as in `add`.
  bool finish_group();

  std::size_t width() const { return width_; }  ///< 0 until the first row is complete
  std::size_t rows() const { return rows_; }    ///< complete rows
  std::size_t begun() const { return open_; }   ///< components of the latest row so far; `width()` if it is complete
  bool all_finite() const { return finite_; }   ///< true if no component so far is NaN or infinite
  const std::optional<RowFault>& fault() const { return fault_; }

 private:
  bool take_entry(const VectorChunk& chunk, std::size_t entry);
  bool is_whole_row(const VectorChunk& chunk, std::size_t entry) const;
  bool close_row();
  bool refuse(std::string message);
  void look_for_non_finite(std::span<const float> components);

  LargeVector<float>& out_;
  std::size_t expected_rows_;
  std::size_t most_reserved_;
  std::size_t width_ = 0;
  std::size_t rows_ = 0;
  std::size_t open_ = 0;             ///< components of the current row; 0: there is no current row
  std::optional<std::size_t> room_;  ///< index in `out_` where an unused room begins
  bool finite_ = true;
  std::optional<RowFault> fault_;
};

}  // namespace attention_plasticity

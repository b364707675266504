#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "attention_plasticity/base/large_vector.h"

namespace attention_plasticity {

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

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "attention_plasticity/base/large_vector.h"

namespace attention_plasticity {

/// A row that breaks a rule of the format, and how.
struct RowFault {
  std::size_t row = 0;
  std::string message;
};

/// True when all levels are this one, or there are none. Faster than counting them.
inline bool all_are(std::span<const std::int16_t> levels, std::int16_t level) {
  // No wider than a level, so that as many as fit in a register are compared at once.
  const auto wanted = static_cast<std::uint16_t>(level);
  std::uint16_t differing = 0;
  for (const std::int16_t other : levels) {
    const auto bits = static_cast<std::uint16_t>(static_cast<std::uint16_t>(other) ^ wanted);
    differing = static_cast<std::uint16_t>(differing | bits);
  }
  return differing == 0;
}

/// Consecutive entries of a list column with their Parquet levels (Melnik et al. 2010, "Dremel"): `repetition` 0 begins
/// a row; `definition` says how much of the path to a component is there. The levels have one length.
struct VectorChunk {
  std::span<const std::int16_t> definition;
  std::span<const std::int16_t> repetition;
  std::span<const float> values;       ///< one for each definition that is `component_present`, in order
  std::int16_t component_present = 0;  ///< definition of a component that is not null
  std::int16_t entry_present = 0;      ///< least definition of a row that has entries; one less: an empty list
  std::size_t fitting = 0;             ///< `values` from this one on were not checked to fit in single precision
  double unfit = 0;                    ///< what stood there, when `fitting < values.size()`
};

/// Puts list entries together to vectors of one width, checking that no vector or component is null.
class VectorColumn {
 public:
  /// Components are appended to `out`. As soon as the width is known, room is made for `expected_rows` rows but for no
  /// more than `most_reserved` components: the expectation comes from a footer that may lie.
  VectorColumn(LargeVector<float>& out, std::size_t expected_rows, std::size_t most_reserved)
      : out_(out), expected_rows_(expected_rows), most_reserved_(most_reserved) {}

  /// A place for up to `most` components, at least one, where the next that are added may be put before they are added.
  std::span<float> room(std::size_t most);

  /// Takes the next entries of the row group. False: a row is at fault, and no more may be added.
  /// Throws std::runtime_error when the levels contradict each other.
  bool add(const VectorChunk& chunk);

  /// Takes the next entries, put into the `room()` just asked for, which are known to go on with rows of this width: no
  /// component is null, and the row under way and those after it have as many.
  void add_rows(std::size_t entries, std::size_t width);

  /// Ends a row group: the next chunk begins with a new row. False as in `add`.
  bool finish_group();

  std::size_t width() const { return width_; }  ///< 0 until the first row is complete
  std::size_t rows() const { return rows_; }    ///< complete ones
  std::size_t begun() const { return open_; }   ///< components of the row that was begun last; all, perhaps
  bool all_finite() const { return finite_; }   ///< no component so far is NaN or infinite
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
  std::size_t open_ = 0;             ///< components of the row under way; 0: none is
  std::optional<std::size_t> room_;  ///< where a room begins that was asked for and not used yet
  bool finite_ = true;
  std::optional<RowFault> fault_;
};

}  // namespace attention_plasticity

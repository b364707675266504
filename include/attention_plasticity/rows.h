#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

/// @file
/// A head's name and its captured rows, borrowed from their owner.

namespace attention_plasticity {

/// A query head and the key head that it reads.
struct HeadId {
  int layer = 0;   ///< from 0
  int q_head = 0;  ///< query head of the layer, from 0
  int k_head = 0;  ///< key head of the layer, from 0

  /// By layer, query head, key head.
  auto operator<=>(const HeadId&) const = default;
};

/// The captured queries, or keys, of one attention head: one row per token, stored by column.
///
/// A view owns nothing. It borrows memory of its maker (a NumPy array, a tensor, a vector), which must outlive every
/// call and every object that the view was given to. Views of the same memory may be read by any number of threads.
struct RowsView {
  std::size_t width = 0;                        ///< components of a vector
  std::span<const std::int64_t> bucket = {};    ///< position bucket of each row, >= 0
  std::span<const std::uint64_t> example = {};  ///< number of each row's sequence, below 2^63; empty: unknown
  std::span<const double> position = {};        ///< position of each row in tokens, finite and >= 0
  std::span<const float> vectors = {};          ///< the components, row after row, finite
  std::size_t row_stride = 0;                   ///< floats from one row to the next; 0: width, the rows adjoin
  std::optional<double> window = {};            ///< sliding window of queries in whole tokens; none: full attention

  /// The number of rows.
  std::size_t size() const { return position.size(); }
  /// The vector of row i, which must be below size().
  std::span<const float> row(std::size_t i) const {
    return vectors.subspan(i * (row_stride == 0 ? width : row_stride), width);
  }
};

}  // namespace attention_plasticity

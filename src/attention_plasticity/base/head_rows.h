#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attention_plasticity/base/large_vector.h"

namespace attention_plasticity {

/// The captured queries, or keys, of one attention head: one row per token, stored by column.
///
/// All columns have `size()` entries and `vectors` has `size() * width`. Buckets and positions are >= 0 and vectors are
/// finite; the code that fills a HeadRows must check this.
struct HeadRows {
  std::size_t width = 0;               ///< components of a vector
  std::vector<std::int64_t> bucket;    ///< position bucket
  std::vector<std::uint64_t> example;  ///< number of the token's sequence, below 2^63; empty: unknown
  std::vector<double> position;        ///< position in tokens
  LargeVector<float> vectors;          ///< row after row
  std::optional<double> window;        ///< sliding window of queries in whole tokens; none: full attention

  std::size_t size() const { return position.size(); }
  std::span<const float> row(std::size_t i) const { return {vectors.data() + i * width, width}; }
};

}  // namespace attention_plasticity

#pragma once

#include <cstddef>
#include <vector>

#include "attention_plasticity/analysis_options.h"
#include "attention_plasticity/random/numpy_generator.h"
#include "attention_plasticity/rows.h"

namespace attention_plasticity {

/// A query row and two different key rows that it sees.
struct Triple {
  std::size_t query;
  std::size_t first;
  std::size_t second;
};

/// Draws `count` triples: a query, uniform over those that see two keys or more, then two of the keys that it sees, one
/// after the other, with weight 1/(1 + distance in tokens). No triples when no query sees two keys.
///
/// A query sees the keys of its example that are not after it. With a window of W tokens they must be less than W
/// tokens away; with a window of W buckets they must be in its own bucket or the max(1, floor(W)) buckets before.
std::vector<Triple> draw_triples(const RowsView& queries, const RowsView& keys, WindowUnit window_unit,
                                 std::size_t count, NumpyGenerator& generator);

}  // namespace attention_plasticity

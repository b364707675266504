#pragma once

#include <cstddef>
#include <vector>

#include "attention_plasticity/base/head_rows.h"
#include "attention_plasticity/plasticity/options.h"
#include "attention_plasticity/random/numpy_generator.h"

namespace attention_plasticity {

/// A row of the queries and two different rows of the keys that it can see.
struct Triple {
  std::size_t query;
  std::size_t first;
  std::size_t second;
};

/// `count` draws of a query, uniform over those that see two keys or more, and of two keys that it sees, one after the
/// other with weight 1/(1 + distance). No triples when there is no such query.
///
/// A query sees the keys of its example at its own position or before, and with a window of W tokens those less than W
/// away; with a window of buckets, those of its own and the last max(1, floor(W)) buckets.
std::vector<Triple> draw_triples(const HeadRows& queries, const HeadRows& keys, WindowUnit window_unit,
                                 std::size_t count, NumpyGenerator& generator);

}  // namespace attention_plasticity

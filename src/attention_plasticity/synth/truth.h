#pragma once

#include <cstddef>
#include <vector>

#include "attention_plasticity/dump/layout.h"
#include "attention_plasticity/synth/estimate.h"
#include "attention_plasticity/synth/exact_truth.h"
#include "attention_plasticity/synth/options.h"

namespace attention_plasticity {

struct CellTruth {
  std::size_t query_bucket;
  std::size_t key_bucket;
  Estimate plasticity;
};

/// The values that the measure tends to for a head as the number of rows grows, computed from its parameters alone.
struct HeadTruth {
  /// The mean of 4 Phi(z) Phi(-z) over the cells, weighted by the expected number of queries: the limit of `ap_overall`
  /// with method `full`, sampler `bucket` and weighting `queries`.
  Estimate plasticity;
  /// The same mean of 4 p (1 - p), where p is the share of the bucket's own queries, instead of a normal law, that
  /// prefer one key to the other.
  Estimate choice;
  std::size_t pairs = 0;         ///< key pairs in all cells
  std::vector<CellTruth> cells;  ///< ordered by query bucket and key bucket
  ExactTruth exact;              ///< of `ap_exact`; there is one without cells too
};

/// The truth of a query head from about `truth_pairs` key pairs and as many triples; NaN without pairs. Without cells
/// (one bucket) only `exact` has a value. The options must have passed `check`.
HeadTruth head_truth(const SynthOptions& options, HeadNumber query_head);

/// The key head that a query head reads.
HeadNumber key_head_of(const SynthOptions& options, HeadNumber query_head);

}  // namespace attention_plasticity

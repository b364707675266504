#pragma once

#include <cstddef>
#include <vector>

#include "attention_plasticity/dump/layout.h"
#include "attention_plasticity/synth/options.h"

namespace attention_plasticity {

/// A Monte Carlo value and its standard error. NaN: there is none.
struct Estimate {
  double value;
  double error;
};

struct CellTruth {
  std::size_t query_bucket;
  std::size_t key_bucket;
  Estimate plasticity;
};

/// What the measure says of a head in the limit of endless rows, from its parameters alone.
struct HeadTruth {
  /// Mean over the cells, by the expected number of queries, of 4 Phi(z) Phi(-z): the limit of `ap_overall` with method
  /// `full`, sampler `bucket`, weighting `queries`.
  Estimate plasticity;
  /// The same mean of 4 p (1 - p), p the share of the bucket's queries themselves, not of a normal law, that prefer
  /// one key to the other.
  Estimate choice;
  std::size_t pairs = 0;         ///< of keys, in all cells
  std::vector<CellTruth> cells;  ///< by query bucket and key bucket
};

/// The truth of a query head from about `truth_pairs` key pairs. No cells (one bucket) or no pairs: NaN.
/// The options must have passed `check`.
HeadTruth head_truth(const SynthOptions& options, HeadKey query_head);

/// The key head that a query head reads.
HeadKey key_head_of(const SynthOptions& options, HeadKey query_head);

}  // namespace attention_plasticity

#pragma once

#include <cstddef>

#include "attention_plasticity/dump/layout.h"
#include "attention_plasticity/synth/estimate.h"
#include "attention_plasticity/synth/options.h"

namespace attention_plasticity {

/// The limit of `ap_exact` as the number of documents grows, and the number of triples behind it.
struct ExactTruth {
  Estimate plasticity;
  std::size_t triples = 0;
};

/// The mean of 4 Phi(z) Phi(-z) over triples of a query and two keys that it sees, from about `truth_pairs` triples.
/// The moments of the un-rotated queries are exact. Triples come from documents that are drawn as those of the dump
/// are: which keys are near a query depends on how many of a document's tokens were captured. The documents are
/// independent, so that their spread gives the error. NaN when no query sees two keys, and with `truth_pairs` 0.
ExactTruth exact_truth(const SynthOptions& options, HeadNumber query_head);

}  // namespace attention_plasticity

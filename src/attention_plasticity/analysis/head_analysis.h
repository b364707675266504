#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attention_plasticity/analysis/options.h"
#include "attention_plasticity/analysis/result.h"
#include "attention_plasticity/base/head_rows.h"

namespace attention_plasticity {

/// The keys of one key head, ready for every query head that reads them.
struct PreparedKeys {
  HeadRows rows;                    ///< those kept, at most max_tokens_per_head; examples always known
  std::vector<double> orientation;  ///< +1 or -1 for each component, from all captured keys
};

/// Orientation and subsampling. The keys must not be empty.
PreparedKeys prepare_keys(HeadRows keys, const AnalysisOptions& options);

/// The whole analysis of one head (docs/method.md): orientation, regression on position, rotation, normality, component
/// weights, plasticity and its standard error.
///
/// `jackknife_examples`, when not empty, names the examples (ascending; a superset of the head's) whose groups are left
/// out in turn in `plasticity.without_group`; otherwise they are the head's own. The head's standard error is of the
/// head's own only, and NaN otherwise.
///
/// Throws Error(input) when there are no rows, columns differ in length, or queries and keys differ in width.
HeadResult analyze_head(const HeadId& head, HeadRows queries, const PreparedKeys& keys, const AnalysisOptions& options,
                        std::span<const std::uint64_t> jackknife_examples = {});

/// For a single head.
HeadResult analyze_head(const HeadId& head, HeadRows queries, HeadRows keys, const AnalysisOptions& options);

}  // namespace attention_plasticity

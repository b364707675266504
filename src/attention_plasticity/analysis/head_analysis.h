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

/// What is known of a head beside its rows.
struct HeadContext {
  /// How the head's layer rotates queries and keys; null: unknown, and position-exact plasticity is not measured.
  const Rotation* rotation = nullptr;
  /// When not empty, the examples (ascending; a superset of the head's) whose groups are left out in turn in the
  /// `without_group` of a result; otherwise they are the head's own. A head's standard errors are of its own examples
  /// only, and NaN otherwise.
  std::span<const std::uint64_t> jackknife_examples = {};
};

/// The whole analysis of one head (docs/method.md): orientation, regression on position, rotation, normality, component
/// weights, plasticity, position-exact plasticity and their standard errors.
///
/// Throws Error(input) when there are no rows, columns differ in length, queries and keys differ in width, or a
/// rotation has more components than they have.
HeadResult analyze_head(const HeadId& head, HeadRows queries, const PreparedKeys& keys, const AnalysisOptions& options,
                        const HeadContext& context = {});

/// For a single head.
HeadResult analyze_head(const HeadId& head, HeadRows queries, HeadRows keys, const AnalysisOptions& options,
                        const HeadContext& context = {});

}  // namespace attention_plasticity

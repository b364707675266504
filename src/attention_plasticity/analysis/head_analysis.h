#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attention_plasticity/analysis/options.h"
#include "attention_plasticity/analysis/result.h"
#include "attention_plasticity/base/head_rows.h"

namespace attention_plasticity {

/// The keys of one key head, prepared once for all query heads that read them.
struct PreparedKeys {
  HeadRows rows;                    ///< at most max_tokens_per_head rows, each with an example
  std::vector<double> orientation;  ///< +1 or -1 for each component, from all captured keys
};

/// Orients and subsamples. Throws Error(input) when there are no keys or columns differ in length.
PreparedKeys prepare_keys(HeadRows keys, const AnalysisOptions& options);

/// What is known about a head besides its rows.
struct HeadContext {
  /// How the head's layer rotates queries and keys; null: unknown, and position-exact plasticity is not measured.
  const Rotation* rotation = nullptr;
  /// The examples (ascending, a superset of the head's) whose groups are left out one by one in the `without_group` of
  /// the result; empty: the head's own examples. Standard errors are computed only for the head's own examples, and are
  /// NaN otherwise.
  std::span<const std::uint64_t> jackknife_examples = {};
};

/// The whole analysis of one head (docs/method.md): orientation, regression on position, reflection, normality,
/// component weights, plasticity, position-exact plasticity and their standard errors.
///
/// Throws Error(input) when there are no rows, columns differ in length, queries and keys differ in width, or a
/// rotation has more components than they have.
HeadResult analyze_head(const HeadId& head, HeadRows queries, const PreparedKeys& keys, const AnalysisOptions& options,
                        const HeadContext& context = {});

/// Prepares the keys as well, for a key head that only one query head reads.
HeadResult analyze_head(const HeadId& head, HeadRows queries, HeadRows keys, const AnalysisOptions& options,
                        const HeadContext& context = {});

}  // namespace attention_plasticity

#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "attention_plasticity/analysis/kept_rows.h"
#include "attention_plasticity/analysis_options.h"
#include "attention_plasticity/head_result.h"
#include "attention_plasticity/rotation.h"
#include "attention_plasticity/stats/line_fit.h"

namespace attention_plasticity {

/// The keys of one key head, prepared once for all query heads that read them.
struct OrientedKeys {
  KeptRows rows;                    ///< at most max_tokens_per_head rows, each with an example
  std::vector<double> orientation;  ///< +1 or -1 for each component, from all captured keys
};

/// Orients and subsamples. Throws Error(input) when there are no keys or columns differ in length.
OrientedKeys orient_keys(KeptRows keys, const AnalysisOptions& options);

/// Plasticity with one jackknife group of examples left out, for each group: of a head, or the mean over heads.
struct WithoutGroup {
  std::vector<double> overall;  ///< of ap_overall
  std::vector<double> exact;    ///< of ap_exact; empty where it was not measured

  /// By the name of the measure: ap_overall or ap_exact.
  const std::vector<double>& of(std::string_view measure) const { return measure == "ap_exact" ? exact : overall; }
};

/// What is measured of a head, and the values that its errors and those of the model come from.
struct MeasuredHead {
  HeadResult result;
  WithoutGroup without_group;
};

/// What is known about a head besides its rows.
struct HeadContext {
  /// How the head's layer rotates queries and keys; null: unknown, and position-exact plasticity is not measured.
  const Rotation* rotation = nullptr;
  /// The examples (ascending, a superset of the head's) whose groups are left out one by one in `without_group`; empty:
  /// the head's own examples. Standard errors are computed only for the head's own examples, and are NaN otherwise.
  std::span<const std::uint64_t> jackknife_examples = {};
  /// R² of a component without spread: 0, or 1 as in the Python toolkit.
  ConstantComponent constant_component = ConstantComponent::has_no_fit;
};

/// The whole analysis of one head (docs/method.md): what analyze_head() does, without its checks of each value.
///
/// Throws Error(input) when there are no rows, columns differ in length, queries and keys differ in width, or a
/// rotation has more components than they have.
MeasuredHead measure_head(const HeadId& head, KeptRows queries, const OrientedKeys& keys,
                          const AnalysisOptions& options, const HeadContext& context = {});

}  // namespace attention_plasticity

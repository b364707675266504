#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attention_plasticity/analysis/kept_rows.h"
#include "attention_plasticity/analysis/run_groups.h"
#include "attention_plasticity/analysis_options.h"
#include "attention_plasticity/base/memory_limit.h"
#include "attention_plasticity/head_result.h"
#include "attention_plasticity/rotation.h"
#include "attention_plasticity/stats/jackknife.h"
#include "attention_plasticity/stats/line_fit.h"

namespace attention_plasticity {

/// The keys of one key head, prepared once for all query heads that read them.
struct OrientedKeys {
  KeptRows rows;                    ///< at most max_tokens_per_head rows, each with an example
  std::vector<double> orientation;  ///< +1 or -1 for each component, from all captured keys
};

/// Orients and subsamples. Throws Error(input) when there are no keys or columns differ in length.
OrientedKeys orient_keys(KeptRows keys, const AnalysisOptions& options);

/// The measurements of a head, with the values that its errors and those of the model come from.
struct MeasuredHead {
  HeadResult result;
  WithoutGroup without_group;
};

/// Knowledge about a head besides its rows.
struct HeadContext {
  /// How the head's layer rotates queries and keys; if null it is unknown, and position-exact plasticity is not
  /// measured.
  const Rotation* rotation = nullptr;
  /// The jackknife groups of the run; if null, the head's own documents are the reference documents.
  const RunGroups* groups = nullptr;
  /// R² of a component without spread: 0, or 1 as in the Python toolkit.
  ConstantComponent constant_component = ConstantComponent::has_no_fit;
  /// The memory that the result may take. Null: any.
  std::optional<ResultLimit> limit = {};
};

/// The whole analysis of one head (docs/method.md): what analyze_head() does, without its checks of each value.
///
/// Throws Error(input) when there are no rows, columns differ in length, queries and keys differ in width, or a
/// rotation has more components than they have, and before cells are measured that take more memory than allowed.
MeasuredHead measure_head(const HeadId& head, KeptRows queries, const OrientedKeys& keys,
                          const AnalysisOptions& options, const HeadContext& context = {});

}  // namespace attention_plasticity

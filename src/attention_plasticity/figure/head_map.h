#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "attention_plasticity/base/matrix.h"
#include "attention_plasticity/results/head_metrics.h"
#include "attention_plasticity/results/run_description.h"

namespace attention_plasticity {

/// A measure of every head of a model.
struct HeadMap {
  Matrix values;                        ///< layers by query heads; NaN: not measured
  std::map<int, std::int64_t> windows;  ///< sliding window in tokens, by layer that has one
};

/// The map of one column. The model is as large as `run` says, and at least as large as the metrics need. Throws what
/// HeadMetrics::values throws, and Error(input) when the column has no value at all.
HeadMap head_map(const HeadMetrics& metrics, std::string_view column, const std::optional<RunDescription>& run);

}  // namespace attention_plasticity

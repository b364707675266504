#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "attention_plasticity/base/matrix.h"
#include "attention_plasticity/figure/figure_table.h"
#include "attention_plasticity/results/head_tables.h"
#include "attention_plasticity/results/run_json.h"

namespace attention_plasticity {

/// A measure of every head of a model, or of the layers and heads that are selected.
struct HeadMap {
  std::vector<int> layers;              ///< by row, ascending
  std::vector<int> heads;               ///< query heads, by column, ascending
  Matrix values;                        ///< layers by query heads; NaN: not measured
  Matrix counts;                        ///< samples behind each value, as the schema says; NaN: not known
  std::map<int, std::int64_t> windows;  ///< sliding window in tokens, by layer of the map that has one
};

/// The map of one column. The model is as large as `run` says, and at least as large as the metrics need; a selection
/// takes rows and columns out of it. Throws what HeadMetrics::values throws, and Error(input) when no head has a value.
HeadMap head_map(const HeadMetrics& metrics, std::string_view column, const std::optional<RunDescription>& run,
                 const HeadSelection& selection = {});

}  // namespace attention_plasticity

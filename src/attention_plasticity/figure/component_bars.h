#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "attention_plasticity/figure/figure_table.h"
#include "attention_plasticity/results/csv.h"

namespace attention_plasticity {

/// The share of each component in the linear information about position, aggregated over all heads.
struct ComponentBars {
  std::vector<double> shares;  ///< by component from 0; NaN where no head has the component
  std::size_t heads = 0;       ///< number of heads that were used
};

/// The bars of head_component_weights.csv. The weights of each head are scaled to sum to 1; a bar is their mean or
/// median over heads. `limit` keeps the first components only (none: all). Heads whose weights sum to 0 are left out.
/// Also reads the column names of the Python toolkit. Throws Error(input) when a column or all weights are missing.
ComponentBars component_bars(const CsvTable& table, Aggregate aggregate, std::optional<std::size_t> limit);

}  // namespace attention_plasticity

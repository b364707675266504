#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "attention_plasticity/figure/figure_table.h"
#include "attention_plasticity/results/csv_table.h"

namespace attention_plasticity {

/// What each component holds of what a head knows linearly of position, over all heads.
struct ComponentBars {
  std::vector<double> shares;  ///< by component from 0; NaN where no head has the component
  std::size_t heads = 0;       ///< that count
};

/// Of head_component_weights.csv: the weights of each head made to sum to 1, then the mean or median over heads, of the
/// first `limit` components. Heads whose weights sum to nothing are left out. Takes the Python toolkit's names
/// of columns too. Throws Error(input) when a column or all weights are missing.
ComponentBars component_bars(const CsvTable& table, Aggregate aggregate, std::optional<std::size_t> limit);

}  // namespace attention_plasticity

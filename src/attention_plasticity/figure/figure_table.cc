#include "attention_plasticity/figure/figure_table.h"

#include <fmt/format.h>

#include <limits>
#include <numeric>

#include "attention_plasticity/error.h"
#include "attention_plasticity/stats/quantile.h"

namespace attention_plasticity {

double aggregated(std::vector<double> values, Aggregate aggregate) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  if (aggregate == Aggregate::median) return median(std::move(values));
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

void check_map_size(std::size_t rows, std::size_t columns, const std::string& file) {
  constexpr std::size_t most_cells = std::size_t{1} << 22;
  if (rows * columns <= most_cells) return;
  throw Error(ErrorKind::input, fmt::format("{} by {} cells are too many to draw", rows, columns), file);
}

}  // namespace attention_plasticity

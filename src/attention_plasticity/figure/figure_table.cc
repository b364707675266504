#include "attention_plasticity/figure/figure_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <numeric>

#include "attention_plasticity/base/error.h"
#include "attention_plasticity/stats/quantile.h"

namespace attention_plasticity {

double aggregated(std::vector<double> values, Aggregate aggregate) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  if (aggregate == Aggregate::median) return median(std::move(values));
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::size_t column_named(const CsvTable& table, std::initializer_list<std::string_view> names,
                         std::string_view file_name) {
  for (const std::string_view name : names) {
    if (const auto column = table.find(name)) return *column;
  }
  throw Error(ErrorKind::input,
              fmt::format("has no column {}; the figure reads the {} of a run", fmt::join(names, " or "), file_name),
              table.file);
}

void check_map_size(std::size_t rows, std::size_t columns, const std::string& file) {
  constexpr std::size_t most_cells = std::size_t{1} << 22;
  if (rows * columns <= most_cells) return;
  throw Error(ErrorKind::input, fmt::format("{} by {} cells are too many to draw", rows, columns), file);
}

HeadColumns head_columns(const CsvTable& table, std::string_view file_name) {
  return {column_named(table, {"layer"}, file_name), column_named(table, {"q_head"}, file_name)};
}

}  // namespace attention_plasticity

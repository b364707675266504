#include "attention_plasticity/figure/head_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "attention_plasticity/error.h"
#include "attention_plasticity/figure/figure_table.h"

namespace attention_plasticity {

HeadMap head_map(const HeadMetrics& metrics, std::string_view column, const std::optional<RunDescription>& run) {
  const std::vector<double> values = metrics.values(column);
  if (std::ranges::all_of(values, [](double value) { return std::isnan(value); })) {
    throw Error(ErrorKind::input, fmt::format("no head has a value in column {}", column), metrics.file());
  }
  int layers = run ? run->num_layers : 0;
  int heads = run ? run->num_q_heads : 0;
  for (const HeadId& head : metrics.heads()) {
    layers = std::max(layers, head.layer + 1);
    heads = std::max(heads, head.q_head + 1);
  }
  HeadMap map;
  if (run) map.windows = run->windows;
  check_map_size(static_cast<std::size_t>(layers), static_cast<std::size_t>(heads), metrics.file());
  map.values = Matrix(static_cast<std::size_t>(layers), static_cast<std::size_t>(heads));
  std::fill_n(map.values.data(), map.values.rows() * map.values.cols(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const HeadId& head = metrics.heads()[i];
    map.values.row(static_cast<std::size_t>(head.layer))[static_cast<std::size_t>(head.q_head)] = values[i];
  }
  return map;
}

}  // namespace attention_plasticity

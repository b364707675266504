#include "attention_plasticity/figure/head_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "attention_plasticity/error.h"
#include "attention_plasticity/results/schema.h"

namespace attention_plasticity {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

std::vector<int> selected_or_all(std::vector<int> selected, int all) {
  if (!selected.empty()) {
    std::ranges::sort(selected);
    const auto rest = std::ranges::unique(selected);
    selected.erase(rest.begin(), rest.end());
    return selected;
  }
  std::vector<int> indices(static_cast<std::size_t>(all));
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

std::vector<double> counts_of(const HeadMetrics& metrics, std::string_view column) {
  const ResultColumn* known = result_table(TableId::metrics).find(column);
  if (known != nullptr && !known->counted_by.empty() && metrics.has(known->counted_by)) {
    return metrics.values(known->counted_by);
  }
  return std::vector<double>(metrics.heads().size(), unknown);
}

}  // namespace

HeadMap head_map(const HeadMetrics& metrics, std::string_view column, const std::optional<RunDescription>& run,
                 const HeadSelection& selection) {
  const std::vector<double> values = metrics.values(column);
  const std::vector<double> counts = counts_of(metrics, column);
  if (std::ranges::all_of(values, [](double value) { return std::isnan(value); })) {
    throw Error(ErrorKind::input, fmt::format("no head has a value in column {}", column), metrics.file());
  }
  int num_layers = run ? run->num_layers : 0;
  int num_heads = run ? run->num_q_heads : 0;
  for (const HeadId& head : metrics.heads()) {
    num_layers = std::max(num_layers, head.layer + 1);
    num_heads = std::max(num_heads, head.q_head + 1);
  }
  HeadMap map;
  map.layers = selected_or_all(selection.layers, num_layers);
  map.heads = selected_or_all(selection.heads, num_heads);
  check_map_size(map.layers.size(), map.heads.size(), metrics.file());
  map.values = Matrix(map.layers.size(), map.heads.size());
  map.counts = map.values;
  std::fill_n(map.values.data(), map.values.rows() * map.values.cols(), unknown);
  std::fill_n(map.counts.data(), map.counts.rows() * map.counts.cols(), unknown);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const HeadId& head = metrics.heads()[i];
    if (!selection.contains(head.layer, head.q_head)) continue;
    const auto row = static_cast<std::size_t>(std::ranges::lower_bound(map.layers, head.layer) - map.layers.begin());
    const auto place = static_cast<std::size_t>(std::ranges::lower_bound(map.heads, head.q_head) - map.heads.begin());
    map.values.row(row)[place] = values[i];
    map.counts.row(row)[place] = counts[i];
  }
  if (!run) return map;
  for (const auto& [layer, window] : run->windows) {
    if (std::ranges::binary_search(map.layers, layer)) map.windows[layer] = window;
  }
  return map;
}

}  // namespace attention_plasticity

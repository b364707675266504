#include "attention_plasticity/figure/component_bars.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "attention_plasticity/error.h"
#include "attention_plasticity/results/head_tables.h"

namespace attention_plasticity {
namespace {

// Bounds the memory of the bars. Vectors have at most 65,536 components unless `max_vector_width` is raised.
constexpr int most_component = (1 << 20) - 1;

struct HeadWeights {
  std::vector<std::pair<std::size_t, double>> weights;  // by component
  double sum = 0;
};

}  // namespace

ComponentBars component_bars(const CsvTable& table, Aggregate aggregate, std::optional<std::size_t> limit) {
  const auto place = [&](std::string_view column) { return column_place(table, TableId::components, column); };
  const std::size_t layer = place("layer");
  const std::size_t q_head = place("q_head");
  const std::size_t component_column = place("component");
  const std::size_t weight_column = place("weight");
  std::map<std::pair<int, int>, HeadWeights> heads;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    HeadWeights& head = heads[{table.index(row, layer), table.index(row, q_head)}];
    const auto component = static_cast<std::size_t>(table.index(row, component_column, most_component));
    const double weight = table.number(row, weight_column);
    if (std::isnan(weight)) continue;
    head.weights.emplace_back(component, weight);
    head.sum += weight;
  }

  ComponentBars bars;
  std::vector<std::vector<CountedValue>> shares;
  for (const auto& [id, head] : heads) {
    if (!(head.sum > 0)) continue;
    ++bars.heads;
    for (const auto& [component, weight] : head.weights) {
      if (component >= shares.size()) shares.resize(component + 1);
      shares[component].push_back({weight / head.sum});
    }
  }
  if (bars.heads == 0) throw Error(ErrorKind::input, "has no head with weights to draw", table.file);
  if (limit && *limit < shares.size()) shares.resize(*limit);
  bars.shares.resize(shares.size());
  std::ranges::transform(shares, bars.shares.begin(),
                         [&](const std::vector<CountedValue>& values) { return aggregated(values, aggregate); });
  return bars;
}

}  // namespace attention_plasticity

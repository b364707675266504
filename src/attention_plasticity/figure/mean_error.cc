#include "attention_plasticity/figure/mean_error.h"

#include <cmath>
#include <limits>

#include "attention_plasticity/results/head_tables.h"
#include "attention_plasticity/stats/jackknife.h"

namespace attention_plasticity {

MeanError::MeanError(const CsvTable& groups) {
  const ResultTable& schema = result_table(TableId::groups);
  const auto value = find_column(groups, *schema.find("ap_exact"));
  if (!value) return;
  const std::size_t layer = column_place(groups, TableId::groups, "layer");
  const std::size_t q_head = column_place(groups, TableId::groups, "q_head");
  const std::size_t group_column = column_place(groups, TableId::groups, "group");
  for (std::size_t row = 0; row < groups.rows.size(); ++row) {
    std::vector<double>& values = without_group_[{groups.index(row, layer), groups.index(row, q_head)}];
    const auto group = static_cast<std::size_t>(groups.index(row, group_column));
    if (group >= values.size()) values.resize(group + 1, std::numeric_limits<double>::quiet_NaN());
    values[group] = groups.number(row, *value);
  }
  std::erase_if(without_group_, [](const auto& head) { return std::isnan(jackknife_error(head.second)); });
}

double MeanError::share_of_bound(std::span<const HeadError> heads) const {
  std::vector<double> mean;  // without each group; weights need not sum to 1, since only a ratio is wanted
  double bound = 0;
  for (const HeadError& head : heads) {
    const auto found = without_group_.find(head.head);
    if (found == without_group_.end()) continue;
    const std::vector<double>& values = found->second;
    if (mean.empty()) mean.resize(values.size());
    if (mean.size() != values.size()) return 1;
    for (std::size_t group = 0; group < values.size(); ++group) mean[group] += head.weight * values[group];
    bound += head.weight * jackknife_error(values);
  }
  return bound > 0 ? jackknife_error(mean) / bound : 1;
}

double MeanError::of(std::span<const HeadError> heads) const {
  std::vector<HeadError> known;
  double weights = 0;
  double bound = 0;
  for (const HeadError& head : heads) {
    if (std::isnan(head.error)) continue;
    known.push_back(head);
    weights += head.weight;
    bound += head.weight * head.error;
  }
  if (known.empty()) return std::numeric_limits<double>::quiet_NaN();
  return bound / weights * (known.size() == 1 ? 1 : share_of_bound(known));
}

}  // namespace attention_plasticity

#pragma once

#include <fmt/format.h>

#include <random>
#include <string>
#include <utility>

#include "attention_plasticity/compare/compared_run.h"

namespace attention_plasticity {

inline constexpr int random_run_heads = 4;
inline constexpr std::size_t random_run_groups = 8;

/// For tests: a run of `layers` layers of four heads whose ap_exact and its values without each group are random.
inline ComparedRun random_run(unsigned seed, int layers = 2, std::string digest = "same") {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> share(0.2, 0.8);
  CsvTable table{{"layer", "q_head", "k_head", "ap_exact", "ap_exact_se", "slope_norm"}, {}, {}, "head_metrics.csv"};
  GroupValues groups;
  for (int layer = 0; layer < layers; ++layer) {
    for (int head = 0; head < random_run_heads; ++head) {
      const double value = share(generator);
      table.rows.push_back({fmt::format("{}", layer), fmt::format("{}", head), fmt::format("{}", head / 2),
                            fmt::format("{}", value), "0.05", fmt::format("{}", 10 * value)});
      table.lines.push_back(table.rows.size() + 1);
      LeaveOneOut& of_head = groups.emplace_back();
      for (std::size_t g = 0; g < random_run_groups; ++g) {
        of_head.groups.push_back(g);
        of_head.values.push_back(value + 0.01 * share(generator));
      }
    }
  }
  ComparedRun run{"run" + digest, {}, 64, DocumentGroups{random_run_groups, 16, digest}, {}, HeadMetrics(table), {}};
  run.description.model = "toy";
  run.description.num_layers = layers;
  run.description.num_q_heads = random_run_heads;
  run.description.num_k_heads = 2;
  run.without_group.emplace("ap_exact", std::move(groups));
  return run;
}

}  // namespace attention_plasticity

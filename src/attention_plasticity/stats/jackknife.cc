#include "attention_plasticity/stats/jackknife.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "attention_plasticity/stats/mean.h"

namespace attention_plasticity {

double jackknife_error(std::span<const double> without_group) {
  if (without_group.size() < 3) return std::numeric_limits<double>::quiet_NaN();
  const auto groups = static_cast<double>(without_group.size());
  const double mean = std::accumulate(without_group.begin(), without_group.end(), 0.0) / groups;
  double squares = 0;
  for (const double value : without_group) squares += (value - mean) * (value - mean);
  return std::sqrt((groups - 1) / groups * squares);
}

std::vector<double> mean_over_heads(std::span<const std::vector<double>* const> without_group) {
  const std::size_t groups = without_group.empty() ? 0 : without_group.front()->size();
  std::vector<double> means;
  means.reserve(groups);
  for (std::size_t g = 0; g < groups; ++g) {
    Mean mean;
    for (const std::vector<double>* head : without_group) {
      if (g < head->size() && !std::isnan((*head)[g])) mean.add((*head)[g]);
    }
    means.push_back(mean.value());
  }
  return means;
}

}  // namespace attention_plasticity

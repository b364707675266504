#include "attention_plasticity/stats/jackknife.h"

#include <cmath>
#include <limits>
#include <numeric>

namespace attention_plasticity {

double jackknife_error(std::span<const double> without_group) {
  if (without_group.size() < 3) return std::numeric_limits<double>::quiet_NaN();
  const auto groups = static_cast<double>(without_group.size());
  const double mean = std::accumulate(without_group.begin(), without_group.end(), 0.0) / groups;
  double squares = 0;
  for (const double value : without_group) squares += (value - mean) * (value - mean);
  return std::sqrt((groups - 1) / groups * squares);
}

}  // namespace attention_plasticity

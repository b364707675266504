#pragma once

#include <algorithm>
#include <vector>

#include "attention_plasticity/stats/normal.h"

namespace attention_plasticity {

/// For tests: sup |F_n - Phi|, the distance of the values' empirical distribution from the standard normal, found by
/// sorting. The values must not be NaN. 0 when empty.
inline double distance_by_sorting(std::vector<double> standardised) {
  std::ranges::sort(standardised);
  const auto n = static_cast<double>(standardised.size());
  double distance = 0.0;
  double below = 0.0;
  for (const double value : standardised) {
    const double expected = normal_cdf(value);
    distance = std::max({distance, expected - below / n, (below + 1.0) / n - expected});
    below += 1.0;
  }
  return distance;
}

}  // namespace attention_plasticity

#pragma once

#include <span>
#include <vector>

#include "attention_plasticity/stats/shape.h"

namespace attention_plasticity {

/// For tests: the shape of values that are not centred yet.
inline Shape sample_shape(std::span<const double> x) {
  const auto n = static_cast<double>(x.size());
  double mean = 0.0;
  for (const double value : x) mean += (value - x[0]) / n;
  std::vector<double> centred;
  for (const double value : x) centred.push_back(value - x[0] - mean);
  return shape_of(power_sums(centred));
}

}  // namespace attention_plasticity

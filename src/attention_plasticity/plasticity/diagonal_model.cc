#include "attention_plasticity/plasticity/diagonal_model.h"

#include <limits>

#include "attention_plasticity/plasticity/direction_kernel.h"
#include "attention_plasticity/plasticity/query_model.h"
#include "attention_plasticity/plasticity/win_probability_kernel.h"

namespace attention_plasticity {

// With R = H D, D = diag(sign), H = I - 2 u uᵀ: m·(R w) = (D H m)·w. In the sum of v_c (R w)_c² the signs of the
// components do not matter, so that R w may be taken as w - 2 (D u)((D u)·w).
DiagonalModel::DiagonalModel(const PositionFrame& frame, const LineFit& lines, double mean_position)
    : moments_{std::vector<double>(frame.width(), 0.0), lines.intercept, lines.residual_variance} {
  auto& [axis, mean, variance] = moments_;
  const std::span<const double> u = frame.reflected();
  for (std::size_t c = 0; c < mean.size(); ++c) mean[c] += mean_position * lines.slope[c];
  const double twice = u.empty() ? 0.0 : 2.0 * product(u, mean);
  for (std::size_t c = 0; c < mean.size(); ++c) {
    const double sign = frame.sign()[c];
    if (!u.empty()) {
      axis[c] = sign * u[c];
      mean[c] -= twice * u[c];
    }
    mean[c] *= sign;
    if (variance[c] <= 0) variance[c] = variance_floor;
  }
}

std::vector<double> DiagonalModel::plasticity(const HeadRows& keys, std::span<const KeyPair> pairs) const {
  std::vector<double> values(pairs.size());
  std::vector<double> variance(pairs.size());
  moments_along_differences(keys, pairs, moments_, values, variance);
  plasticity_of_pairs(values, variance, values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (variance[i] <= 0) values[i] = std::numeric_limits<double>::quiet_NaN();
  }
  return values;
}

}  // namespace attention_plasticity

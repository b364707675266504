#include "attention_plasticity/stats/householder.h"

#include <cmath>
#include <numeric>

namespace attention_plasticity {
namespace {

constexpr double nearly_zero = 1e-12;

double norm(std::span<const double> x) { return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0)); }

}  // namespace

Householder::Householder(std::span<const double> beta) {
  const double length = norm(beta);
  if (length == 0) return;
  direction_.assign(beta.begin(), beta.end());
  for (double& value : direction_) value /= length;
  if (length < nearly_zero) return;
  std::vector<double> axis = direction_;
  axis[0] -= 1.0;
  const double distance = norm(axis);
  if (distance < nearly_zero) return;
  for (double& value : axis) value /= distance;
  axis_ = std::move(axis);
}

void Householder::apply(std::span<double> x) const {
  if (axis_.empty()) return;
  const double twice = 2.0 * std::inner_product(x.begin(), x.end(), axis_.begin(), 0.0);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] -= twice * axis_[i];
}

}  // namespace attention_plasticity

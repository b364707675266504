#include "attention_plasticity/stats/line_fit.h"

#include <algorithm>

namespace attention_plasticity {
namespace {

constexpr double smallest_total = 1e-12;

}  // namespace

LineMoments::LineMoments(std::size_t components) : mean_(components), tx_(components), xx_(components) {}

void LineMoments::add(double t, std::span<const double> x) {
  ++count_;
  const double share = 1.0 / static_cast<double>(count_);
  const double t_before = t - mean_t_;
  mean_t_ += t_before * share;
  const double t_after = t - mean_t_;
  tt_ += t_before * t_after;
  for (std::size_t i = 0; i < mean_.size(); ++i) {
    const double x_before = x[i] - mean_[i];
    mean_[i] += x_before * share;
    tx_[i] += t_after * x_before;
    xx_[i] += x_before * (x[i] - mean_[i]);
  }
}

void LineMoments::merge(const LineMoments& other) {
  if (other.count_ == 0) return;
  const auto n = static_cast<double>(count_);
  const auto m = static_cast<double>(other.count_);
  const double both = n + m;
  const double between = n * m / both;
  const double dt = other.mean_t_ - mean_t_;
  for (std::size_t i = 0; i < mean_.size(); ++i) {
    const double dx = other.mean_[i] - mean_[i];
    tx_[i] += other.tx_[i] + between * dt * dx;
    xx_[i] += other.xx_[i] + between * dx * dx;
    mean_[i] += dx * (m / both);
  }
  tt_ += other.tt_ + between * dt * dt;
  mean_t_ += dt * (m / both);
  count_ += other.count_;
}

LineFit LineMoments::finish(ConstantComponent constant) const {
  const std::size_t d = mean_.size();
  LineFit fit{mean_, std::vector<double>(d, 0.0), std::vector<double>(d, 0.0), std::vector<double>(d, 1.0)};
  for (std::size_t i = 0; i < d; ++i) {
    double explained = 0;
    if (tt_ > 0) {
      fit.slope[i] = tx_[i] / tt_;
      fit.intercept[i] = mean_[i] - fit.slope[i] * mean_t_;
      explained = std::min(tx_[i] * fit.slope[i], xx_[i]);
      if (xx_[i] >= smallest_total) {
        fit.r_squared[i] = explained / xx_[i];
      } else if (xx_[i] > 0 || constant == ConstantComponent::fits) {
        fit.r_squared[i] = 1.0 - (xx_[i] - explained) / smallest_total;
      }
    }
    if (count_ > 1) fit.residual_variance[i] = (xx_[i] - explained) / static_cast<double>(count_ - 1);
  }
  return fit;
}

}  // namespace attention_plasticity

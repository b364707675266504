#include "attention_plasticity/stats/line_fit.h"

#include <algorithm>
#include <cmath>

namespace attention_plasticity {
namespace {

constexpr double smallest_total = 1e-12;
constexpr double far_from_zero = 1024;  // ranges of t

}  // namespace

double line_origin(std::span<const double> t) {
  const auto [smallest, largest] = std::ranges::minmax(t);
  const double from_zero = std::min(std::abs(smallest), std::abs(largest));
  return from_zero > far_from_zero * (largest - smallest) ? smallest : 0;
}

LineMoments::LineMoments(std::size_t components, double origin) {
  sums_.origin = origin;
  sums_.mean.resize(components);
  sums_.tx.resize(components);
  sums_.xx.resize(components);
}

void LineMoments::add(double t, std::span<const double> x) {
  ++sums_.count;
  const double share = 1.0 / static_cast<double>(sums_.count);
  const double from_origin = t - sums_.origin;
  const double t_before = from_origin - sums_.mean_t;
  sums_.mean_t += t_before * share;
  const double t_after = from_origin - sums_.mean_t;
  sums_.tt += t_before * t_after;
  for (std::size_t i = 0; i < sums_.mean.size(); ++i) {
    const double x_before = x[i] - sums_.mean[i];
    sums_.mean[i] += x_before * share;
    sums_.tx[i] += t_after * x_before;
    sums_.xx[i] += x_before * (x[i] - sums_.mean[i]);
  }
}

void LineMoments::merge(const LineMoments& moments) {
  const LineSums& other = moments.sums_;
  if (other.count == 0) return;
  const auto n = static_cast<double>(sums_.count);
  const auto m = static_cast<double>(other.count);
  const double both = n + m;
  const double between = n * m / both;
  const double dt = other.mean_t - sums_.mean_t;
  for (std::size_t i = 0; i < sums_.mean.size(); ++i) {
    const double dx = other.mean[i] - sums_.mean[i];
    sums_.tx[i] += other.tx[i] + between * dt * dx;
    sums_.xx[i] += other.xx[i] + between * dx * dx;
    sums_.mean[i] += dx * (m / both);
  }
  sums_.tt += other.tt + between * dt * dt;
  sums_.mean_t += dt * (m / both);
  sums_.count += other.count;
}

double energy_of(const LineSums& sums) {
  double energy = 0;
  for (std::size_t c = 0; c < sums.mean.size(); ++c) {
    energy += sums.xx[c] + static_cast<double>(sums.count) * sums.mean[c] * sums.mean[c];
  }
  return energy;
}

LineFit fit_lines(const LineSums& sums, ConstantComponent constant) {
  const std::size_t d = sums.mean.size();
  LineFit fit{sums.mean, std::vector<double>(d, 0.0), std::vector<double>(d, 0.0), std::vector<double>(d, 1.0)};
  fit.origin = sums.origin;
  for (std::size_t i = 0; i < d; ++i) {
    const double xx = sums.xx[i];
    double explained = 0;
    if (sums.tt > 0) {
      fit.slope[i] = sums.tx[i] / sums.tt;
      fit.intercept[i] = sums.mean[i] - fit.slope[i] * sums.mean_t;
      explained = std::min(sums.tx[i] * fit.slope[i], xx);
      if (xx >= smallest_total) {
        fit.r_squared[i] = explained / xx;
      } else if (xx > 0 || constant == ConstantComponent::fits) {
        fit.r_squared[i] = 1.0 - (xx - explained) / smallest_total;
      }
    }
    if (sums.count > 1) fit.residual_variance[i] = (xx - explained) / static_cast<double>(sums.count - 1);
  }
  return fit;
}

}  // namespace attention_plasticity

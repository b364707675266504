#include "attention_plasticity/analysis/query_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "attention_plasticity/random/numpy_generator.h"
#include "attention_plasticity/stats/kolmogorov.h"
#include "attention_plasticity/stats/line_fit.h"
#include "attention_plasticity/stats/quantile.h"
#include "attention_plasticity/stats/shape.h"

namespace attention_plasticity {
namespace {

double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Subtracts the mean and divides by the n - 1 deviation. False, and all zero, when the values have no spread.
bool standardise(std::span<double> values) {
  const auto n = static_cast<double>(values.size());
  const double first = values[0];  // differences to it make equal values exactly 0
  double sum = 0;
  for (double& value : values) sum += value -= first;
  const double mean = sum / n;
  double squares = 0;
  for (double& value : values) {
    value -= mean;
    squares += value * value;
  }
  if (squares <= 0) return false;
  const double scale = 1.0 / std::sqrt(squares / (n - 1));
  for (double& value : values) value *= scale;
  return true;
}

Normality sample_normality(std::span<double> values, bool with_ks) {
  if (values.size() < 3 || !standardise(values)) return {};
  const Shape shape = sample_shape(values);
  return {shape.skewness, shape.excess_kurtosis, with_ks ? kolmogorov_smirnov_p(values) : 1.0};
}

}  // namespace

ScalarPredictability scalar_predictability(std::span<const double> position, const Matrix& x,
                                           std::span<const double> beta) {
  const auto n = static_cast<double>(position.size());
  std::vector<double> y(position.size());
  std::ranges::transform(position, y.begin(), [](double t) { return std::log2(t + 1.0); });
  const double y_mean = std::accumulate(y.begin(), y.end(), 0.0) / n;
  ScalarPredictability result;
  for (const double value : y) result.mae_baseline += std::abs(value - y_mean) / n;
  result.mae_projection = result.mae_baseline;

  const double norm = std::sqrt(dot(beta, beta));
  if (norm > 0) {
    std::vector<double> direction(beta.begin(), beta.end());
    for (double& component : direction) component /= norm;
    LineMoments moments(1);
    std::vector<double> s(y.size());
    for (std::size_t i = 0; i < y.size(); ++i) {
      s[i] = dot(x.row(i), direction);
      moments.add(s[i], {&y[i], 1});
    }
    const LineFit fit = moments.finish();
    if (moments.spread_t() > 0) {
      result.r_squared = fit.r_squared[0];
      result.mae_projection = 0;
      for (std::size_t i = 0; i < y.size(); ++i) {
        result.mae_projection += std::abs(y[i] - fit.intercept[0] - fit.slope[0] * s[i]) / n;
      }
    }
  }
  result.mae_ratio = result.mae_baseline > 0 ? result.mae_projection / result.mae_baseline : 1.0;
  return result;
}

Normality residual_normality(std::span<const double> position, const Matrix& rotated, double intercept, double slope) {
  std::vector<double> residual(position.size());
  for (std::size_t i = 0; i < residual.size(); ++i) residual[i] = rotated.row(i)[0] - intercept - slope * position[i];
  return sample_normality(residual, true);
}

NoiseNormality noise_normality(const Matrix& rotated, std::size_t max_dims, double p_alpha, std::uint64_t seed) {
  if (rotated.rows() < 3 || rotated.cols() < 2) return {};
  const std::size_t components = rotated.cols() - 1;
  std::vector<bool> tested(components, false);
  const std::vector<std::size_t> chosen =
      NumpyGenerator(seed).choice_without_replacement(components, std::min(max_dims, components));
  for (const std::size_t component : chosen) tested[component] = true;

  std::vector<double> skewness, kurtosis, p;
  std::vector<double> values(rotated.rows());
  for (std::size_t component = 0; component < components; ++component) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = rotated.row(i)[component + 1];
    const Normality normality = sample_normality(values, tested[component]);
    skewness.push_back(std::abs(normality.skewness));
    kurtosis.push_back(std::abs(normality.excess_kurtosis));
    if (tested[component]) p.push_back(normality.ks_p);
  }
  NoiseNormality result;
  result.median_abs_skewness = median(skewness);
  result.median_abs_excess_kurtosis = median(kurtosis);
  result.median_ks_p = median(p);
  result.share_below_alpha =
      p.empty() ? std::numeric_limits<double>::quiet_NaN()
                : static_cast<double>(std::ranges::count_if(p, [&](double value) { return value < p_alpha; })) /
                      static_cast<double>(p.size());
  return result;
}

std::vector<double> component_weights(std::span<const double> r_squared) {
  std::vector<double> weights(r_squared.begin(), r_squared.end());
  for (double& weight : weights) weight = std::max(weight, 0.0);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight = sum > 0 ? weight / sum : 1.0 / static_cast<double>(weights.size());
  return weights;
}

}  // namespace attention_plasticity

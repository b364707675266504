#include "attention_plasticity/analysis/query_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <vector>

#include "attention_plasticity/base/stop_scope.h"
#include "attention_plasticity/random/numpy_generator.h"
#include "attention_plasticity/stats/kolmogorov.h"
#include "attention_plasticity/stats/kolmogorov_bins.h"
#include "attention_plasticity/stats/line_fit.h"
#include "attention_plasticity/stats/quantile.h"
#include "attention_plasticity/stats/shape.h"
#include "attention_plasticity/stats/sum.h"

namespace attention_plasticity {
namespace {

// Subtracts the mean. Equal values become exactly 0.
void centre(std::span<double> values) {
  const auto n = static_cast<double>(values.size());
  const double first = values[0];
  for (double& value : values) value -= first;
  const double mean = sum_terms(values.size(), [&](std::size_t i) { return values[i]; }) / n;
  for (double& value : values) value -= mean;
}

double mean_magnitude(std::span<const double> values) {
  return sum_terms(values.size(), [&](std::size_t i) { return std::abs(values[i]); }) /
         static_cast<double>(values.size());
}

// log2(t + 1) of each position minus that of the smallest. The difference of two logarithms would have few digits left.
std::vector<double> near_log_positions(std::span<const double> position, double smallest) {
  std::vector<double> result(position.size());
  std::ranges::transform(position, result.begin(), [smallest](double t) {
    return std::log1p((t - smallest) / (smallest + 1.0)) / std::numbers::ln2;
  });
  return result;
}

// log2(t + 1) of each position, or where they lie close together for their size its difference from some number. Most
// positions are small whole numbers that occur many times, so their values are kept.
std::vector<double> log_positions(std::span<const double> position) {
  if (const double origin = line_origin(position); origin > 0) return near_log_positions(position, origin);
  std::vector<double> known(4096, -1.0);
  std::vector<double> result(position.size());
  for (std::size_t i = 0; i < position.size(); ++i) {
    const double t = position[i];
    const auto whole = t < static_cast<double>(known.size()) ? static_cast<std::size_t>(t) : known.size();
    const bool in_table = static_cast<double>(whole) == t && whole < known.size();
    double& value = in_table ? known[whole] : result[i];
    if (!in_table || value < 0) value = std::log2(t + 1.0);
    result[i] = value;
  }
  return result;
}

// Skewness and kurtosis from sums of powers of x - mean; KS p stays 1.
Normality normality(const PowerSums& sums) {
  const Shape shape = shape_of(sums);
  return {shape.skewness, shape.excess_kurtosis, 1.0};
}

double deviation(const PowerSums& sums) { return std::sqrt(sums.squares() / static_cast<double>(sums.count - 1)); }

// The KS p of values x. `codes` encode x - m for some m near the mean; exact(row) is x - mean.
template <class Exact>
double ks_p(KolmogorovBins& bins, std::span<const std::uint16_t> codes, double codes_per_unit, const PowerSums& sums,
            const Exact& exact) {
  const double scale = 1.0 / deviation(sums);
  const auto standardise = [&](std::span<const std::uint32_t> rows, std::span<double> standardised) {
    for (std::size_t i = 0; i < rows.size(); ++i) standardised[i] = exact(rows[i]) * scale;
  };
  const CodedSample sample{codes, (-32768.0 / codes_per_unit - sums.mean()) * scale, scale / codes_per_unit,
                           standardise};
  return kolmogorov_survival(codes.size(), bins.distance(sample));
}

}  // namespace

ScalarPredictability scalar_predictability(std::span<const double> position, std::span<const double> s) {
  std::vector<double> y = log_positions(position);
  centre(y);
  ScalarPredictability result;
  result.mae_baseline = mean_magnitude(y);
  result.mae_projection = result.mae_baseline;
  if (!s.empty()) {
    std::vector<double> x(s.begin(), s.end());
    centre(x);
    const auto product_sum = [&](std::span<const double> a, std::span<const double> b) {
      return sum_terms(a.size(), [&](std::size_t i) { return a[i] * b[i]; });
    };
    const LineSums sums{x.size(), 0, product_sum(x, x), {0}, {product_sum(x, y)}, {product_sum(y, y)}};
    if (sums.tt > 0) {
      const LineFit fit = fit_lines(sums);
      // Not that of the fit, whose least total would swallow the spread of logarithms of large positions.
      if (sums.xx[0] > 0) result.r_squared = std::min(sums.tx[0] * fit.slope[0], sums.xx[0]) / sums.xx[0];
      for (std::size_t i = 0; i < x.size(); ++i) y[i] -= fit.slope[0] * x[i];
      result.mae_projection = mean_magnitude(y);
    }
  }
  result.mae_ratio = result.mae_baseline > 0 ? result.mae_projection / result.mae_baseline : 1.0;
  return result;
}

Normality residual_normality(std::span<const double> position, std::span<const double> first_component, double slope,
                             double origin) {
  std::vector<double> residual(first_component.begin(), first_component.end());
  double largest = 0;
  for (std::size_t i = 0; i < residual.size(); ++i) {
    largest = std::max(largest, std::abs(residual[i]));
    residual[i] -= slope * (position[i] - origin);
  }
  if (residual.size() < 3) return {};
  centre(residual);
  const PowerSums sums = power_sums(residual);
  const double rounding = 4 * std::numeric_limits<double>::epsilon() * largest;
  if (sums.squares() <= static_cast<double>(residual.size()) * rounding * rounding) return {};
  Normality result = normality(sums);
  const double codes_per_unit = 4096.0 / deviation(sums);
  std::vector<std::uint16_t> codes(residual.size());
  std::ranges::transform(residual, codes.begin(), [&](double value) { return code_of(value, codes_per_unit); });
  KolmogorovBins bins;
  result.ks_p = ks_p(bins, codes, codes_per_unit, sums, [&](std::size_t row) { return residual[row] - sums.mean(); });
  return result;
}

std::vector<bool> tested_components(std::size_t rows, std::size_t width, std::size_t max_dims, std::uint64_t seed) {
  std::vector<bool> tested(width, false);
  if (rows < 3 || width < 2) return tested;
  const std::size_t components = width - 1;
  for (const std::size_t component :
       NumpyGenerator(seed).choice_without_replacement(components, std::min(max_dims, components))) {
    tested[component + 1] = true;
  }
  return tested;
}

ReflectedComponents reflected_components(const ReflectedRows& queries, const std::vector<bool>& tested, double p_alpha,
                                         double energy) {
  const bool measured = queries.size() >= 3 && queries.width() >= 2;
  ReflectedComponents result;
  std::vector<double> skewness, kurtosis, p;
  KolmogorovBins bins;
  const ReflectedColumns& columns = queries.columns();
  for (std::size_t component = 0; component < queries.width(); ++component) {
    throw_if_stopped();
    PowerSums sums = columns.sums[component];
    // Of queries that all lie on one line, reflection leaves exactly nothing across it, but for rounding.
    if (sums.squares() <= energy * queries.rounding(component)) sums = {.count = sums.count};
    result.squares.push_back(sums.squares());
    if (!measured || component == 0) continue;
    const Normality of_component = normality(sums);
    skewness.push_back(std::abs(of_component.skewness));
    kurtosis.push_back(std::abs(of_component.excess_kurtosis));
    if (!tested[component]) continue;
    const double own_mean = queries.mean()[component] + sums.mean();
    const auto exact = [&](std::size_t row) { return queries.value(row, component) - own_mean; };
    p.push_back(sums.squares() > 0
                    ? ks_p(bins, columns.codes(component), columns.codes_per_unit[component], sums, exact)
                    : 1.0);
  }
  if (!measured) return result;
  result.noise.median_abs_skewness = median(skewness);
  result.noise.median_abs_excess_kurtosis = median(kurtosis);
  result.noise.median_ks_p = median(p);
  result.noise.share_below_alpha =
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

#include "attention_plasticity/stats/shape.h"

#include <algorithm>
#include <cmath>

#include "attention_plasticity/stats/sum.h"

namespace attention_plasticity {
namespace {

// G1 and G2 of at least 3 values from their mean powers about the mean.
Shape corrected(std::size_t count, double m2, double m3, double m4) {
  const auto n = static_cast<double>(count);
  const double g1 = m3 / (m2 * std::sqrt(m2));
  const double g2 = m4 / (m2 * m2) - 3.0;
  const double skewness = g1 * std::sqrt(n * (n - 1.0)) / (n - 2.0);
  if (count == 3) return {skewness, g2};
  return {skewness, ((n + 1.0) * g2 + 6.0) * (n - 1.0) / ((n - 2.0) * (n - 3.0))};
}

}  // namespace

double PowerSums::squares() const { return std::max(0.0, second - first * mean()); }

PowerSums power_sums(std::span<const double> centred) {
  PowerSums sums;
  sums.count = centred.size();
  const auto sum = [&](const auto& power) {
    return sum_terms(centred.size(), [&](std::size_t i) { return power(centred[i]); });
  };
  sums.first = sum([](double x) { return x; });
  sums.second = sum([](double x) { return x * x; });
  sums.third = sum([](double x) { return x * x * x; });
  sums.fourth = sum([](double x) { return (x * x) * (x * x); });
  return sums;
}

Shape shape_of(const PowerSums& sums) {
  if (sums.count < 3 || sums.squares() <= 0) return {0.0, 0.0};
  const auto n = static_cast<double>(sums.count);
  const double mean = sums.mean();
  const double second = sums.second / n;
  const double third = sums.third / n;
  const double m3 = third - 3.0 * mean * second + 2.0 * mean * mean * mean;
  const double m4 = sums.fourth / n - mean * (4.0 * third - mean * (6.0 * second - 3.0 * mean * mean));
  return corrected(sums.count, sums.squares() / n, m3, m4);
}

}  // namespace attention_plasticity

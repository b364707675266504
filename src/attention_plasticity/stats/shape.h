#pragma once

#include <cstddef>
#include <span>

namespace attention_plasticity {

/// How a sample differs from a normal one. Both are 0 for a normal population.
struct Shape {
  double skewness;
  double excess_kurtosis;
};

/// Sums of the first four powers of values whose mean is 0 up to rounding.
struct PowerSums {
  std::size_t count = 0;
  double first = 0;
  double second = 0;
  double third = 0;
  double fourth = 0;

  double mean() const { return first / static_cast<double>(count); }
  /// Sum of squares about the mean; exactly 0 if all values are 0.
  double squares() const;
};

PowerSums power_sums(std::span<const double> centred);

/// Bias-corrected skewness G1 and excess kurtosis G2 (Joanes & Gill 1998):
///
///     G1 = g1 sqrt(n (n - 1)) / (n - 2)                     g1 = m3 / m2^(3/2)
///     G2 = ((n + 1) g2 + 6) (n - 1) / ((n - 2) (n - 3))     g2 = m4 / m2^2 - 3
///
/// m_k is the mean k-th power about the mean. For three values G2 does not exist, and g2 is given instead. For fewer
/// than three, or values without spread, both are 0. The fourth powers of the values must neither overflow nor
/// underflow; those of floats do not.
Shape shape_of(const PowerSums& sums);

}  // namespace attention_plasticity

#pragma once

#include <span>
#include <vector>

namespace attention_plasticity {

/// The middle value, or the mean of the middle two. NaN when empty; the values must not be NaN.
double median(std::vector<double> values);

/// The value at rank q (n - 1) of ascending values, linear between neighbours: NumPy's default quantile.
/// q in [0, 1], values outside are taken to the nearer end. NaN when empty.
double quantile(std::span<const double> sorted, double q);

}  // namespace attention_plasticity

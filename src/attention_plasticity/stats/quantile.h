#pragma once

#include <span>
#include <vector>

namespace attention_plasticity {

/// The middle value, or the mean of the two middle ones. NaN when empty. The values must not be NaN.
double median(std::vector<double> values);

/// The value at rank q (n - 1) of ascending values, interpolated linearly between neighbours: NumPy's default quantile.
/// q is clamped to [0, 1]. NaN when empty.
double quantile(std::span<const double> sorted, double q);

}  // namespace attention_plasticity

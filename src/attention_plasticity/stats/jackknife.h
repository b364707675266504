#pragma once

#include <span>

namespace attention_plasticity {

/// The delete-a-group jackknife error sqrt((G-1)/G * sum (theta_g - mean theta)^2) of G values, each computed without
/// one group. NaN with fewer than 3 values or when one of them is NaN: nothing was left without that group.
double jackknife_error(std::span<const double> without_group);

}  // namespace attention_plasticity

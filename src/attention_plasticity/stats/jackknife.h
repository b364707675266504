#pragma once

#include <span>
#include <vector>

namespace attention_plasticity {

/// The delete-a-group jackknife error sqrt((G-1)/G * sum (theta_g - mean theta)^2), where theta_g is the value computed
/// without group g, and G the number of groups. NaN for fewer than 3 groups, and if a value is NaN, which means that
/// nothing was left without its group.
double jackknife_error(std::span<const double> without_group);

/// The mean over heads of their values without each group. A head with nothing left without a group, which is NaN,
/// drops out of that group's mean. As many groups as the first head has.
std::vector<double> mean_over_heads(std::span<const std::vector<double>* const> without_group);

}  // namespace attention_plasticity

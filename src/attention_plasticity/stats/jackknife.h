#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace attention_plasticity {

/// The delete-a-group jackknife error sqrt((G-1)/G * sum (theta_g - mean theta)^2), where theta_g is the value computed
/// without group g, and G the number of groups. NaN for fewer than 3 groups, and if a value is NaN, which means that
/// nothing was left without its group.
double jackknife_error(std::span<const double> without_group);

/// Leave-one-out values of a statistic: computed without each jackknife group.
struct LeaveOneOut {
  std::vector<std::size_t> groups;  ///< their numbers, ascending; some may be absent
  std::vector<double> values;       ///< of each of `groups`; NaN if nothing is left without it
};

/// Computes the mean over heads without each group that all heads have. A head with nothing left without a group, which
/// is NaN, drops out of that group's mean.
LeaveOneOut mean_over_heads(std::span<const LeaveOneOut> heads);

/// Computes b - a without each group that both have.
LeaveOneOut difference_of(const LeaveOneOut& a, const LeaveOneOut& b);

}  // namespace attention_plasticity

#pragma once

#include <cstddef>
#include <span>
#include <string_view>
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

/// Leave-one-out values of plasticity, of a head or of the mean over heads.
struct WithoutGroup {
  std::vector<std::size_t> groups = {};  ///< their numbers in the run, ascending; a head may lack some
  std::vector<double> overall = {};      ///< of ap_overall; NaN if nothing is left without the group
  std::vector<double> exact = {};        ///< of ap_exact; empty where it was not measured

  /// Returns the values of a measure, ap_overall or ap_exact.
  const std::vector<double>& of(std::string_view measure) const { return measure == "ap_exact" ? exact : overall; }
};

/// Computes the mean over heads without each group that all heads have. A head with nothing left without a group, which
/// is NaN, drops out of that group's mean.
LeaveOneOut mean_over_heads(std::span<const LeaveOneOut> heads);

/// Computes b - a without each group that both have.
LeaveOneOut difference_of(const LeaveOneOut& a, const LeaveOneOut& b);

}  // namespace attention_plasticity

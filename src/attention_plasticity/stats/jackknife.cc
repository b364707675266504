#include "attention_plasticity/stats/jackknife.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

#include "attention_plasticity/stats/mean.h"

namespace attention_plasticity {
namespace {

std::vector<std::size_t> groups_of_both(const std::vector<std::size_t>& a, const std::vector<std::size_t>& b) {
  std::vector<std::size_t> both;
  std::ranges::set_intersection(a, b, std::back_inserter(both));
  return both;
}

// The value without a group, which must be one of them.
double value_without(const LeaveOneOut& of, std::size_t group) {
  return of.values[static_cast<std::size_t>(std::ranges::lower_bound(of.groups, group) - of.groups.begin())];
}

}  // namespace

double jackknife_error(std::span<const double> without_group) {
  if (without_group.size() < 3) return std::numeric_limits<double>::quiet_NaN();
  const auto groups = static_cast<double>(without_group.size());
  const double mean = std::accumulate(without_group.begin(), without_group.end(), 0.0) / groups;
  double squares = 0;
  for (const double value : without_group) squares += (value - mean) * (value - mean);
  return std::sqrt((groups - 1) / groups * squares);
}

LeaveOneOut mean_over_heads(std::span<const LeaveOneOut> heads) {
  LeaveOneOut means;
  if (heads.empty()) return means;
  means.groups = heads.front().groups;
  for (const LeaveOneOut& head : heads) means.groups = groups_of_both(means.groups, head.groups);
  for (const std::size_t group : means.groups) {
    Mean mean;
    for (const LeaveOneOut& head : heads) {
      if (const double value = value_without(head, group); !std::isnan(value)) mean.add(value);
    }
    means.values.push_back(mean.value());
  }
  return means;
}

LeaveOneOut difference_of(const LeaveOneOut& a, const LeaveOneOut& b) {
  LeaveOneOut difference{groups_of_both(a.groups, b.groups), {}};
  for (const std::size_t group : difference.groups) {
    difference.values.push_back(value_without(b, group) - value_without(a, group));
  }
  return difference;
}

}  // namespace attention_plasticity

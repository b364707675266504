#include "attention_plasticity/stats/false_discovery.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace attention_plasticity {

std::vector<double> false_discovery_q(std::span<const double> p) {
  std::vector<std::size_t> order;
  order.reserve(p.size());
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (!std::isnan(p[i])) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return p[i]; });
  std::vector<double> q(p.size(), std::numeric_limits<double>::quiet_NaN());
  const auto count = static_cast<double>(order.size());
  double least = 1;
  for (std::size_t rank = order.size(); rank > 0; --rank) {
    const std::size_t i = order[rank - 1];
    least = std::min(least, p[i] * (count / static_cast<double>(rank)));
    q[i] = least;
  }
  return q;
}

}  // namespace attention_plasticity

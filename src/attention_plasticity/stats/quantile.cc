#include "attention_plasticity/stats/quantile.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace attention_plasticity {

double median(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2.0;
}

double quantile(std::span<const double> sorted, double q) {
  if (sorted.empty()) return std::numeric_limits<double>::quiet_NaN();
  const double rank = std::clamp(q, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  const double fraction = rank - std::floor(rank);
  if (fraction == 0.0) return sorted[below];
  const double low = sorted[below];
  const double high = sorted[below + 1];
  // Starts from the nearer neighbour, as NumPy does, so that both ends are exact.
  return fraction < 0.5 ? low + (high - low) * fraction : high - (high - low) * (1.0 - fraction);
}

}  // namespace attention_plasticity

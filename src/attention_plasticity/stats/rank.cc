#include "attention_plasticity/stats/rank.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "attention_plasticity/error.h"

namespace attention_plasticity {

std::vector<std::size_t> dense_ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<std::size_t> ranks(values.size());
  for (std::size_t i = 1; i < order.size(); ++i) {
    ranks[order[i]] = ranks[order[i - 1]] + (values[order[i]] == values[order[i - 1]] ? 0 : 1);
  }
  return ranks;
}

std::vector<double> average_ranks(std::span<const double> values) {
  const std::vector<std::size_t> dense = dense_ranks(values);
  std::vector<std::size_t> count(values.size());
  for (const std::size_t rank : dense) ++count[rank];
  std::vector<double> shared(values.size());
  std::size_t below = 0;
  for (std::size_t i = 0; i < count.size(); ++i) {
    shared[i] = static_cast<double>(below) + static_cast<double>(count[i] + 1) / 2;
    below += count[i];
  }
  std::vector<double> ranks(values.size());
  std::ranges::transform(dense, ranks.begin(), [&](std::size_t rank) { return shared[rank]; });
  return ranks;
}

double spearman(std::span<const double> x, std::span<const double> y) {
  if (x.size() != y.size()) throw Error(ErrorKind::usage, "a rank correlation needs as many x values as y values");
  const std::vector<double> x_ranks = average_ranks(x);
  const std::vector<double> y_ranks = average_ranks(y);
  // Ranks are multiples of 1/2, so up to 100,000 pairs these sums are exact, and no spread gives exactly 0.
  const double mean = static_cast<double>(x.size() + 1) / 2;
  double xx = 0;
  double yy = 0;
  double xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double dx = x_ranks[i] - mean;
    const double dy = y_ranks[i] - mean;
    xx += dx * dx;
    yy += dy * dy;
    xy += dx * dy;
  }
  if (xx == 0 || yy == 0) return std::numeric_limits<double>::quiet_NaN();
  return std::clamp(xy / std::sqrt(xx * yy), -1.0, 1.0);
}

double roc_area(std::span<const double> positives, std::span<const double> negatives) {
  if (positives.empty() || negatives.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> all(positives.begin(), positives.end());
  all.insert(all.end(), negatives.begin(), negatives.end());
  const std::vector<double> ranks = average_ranks(all);
  const auto n = static_cast<double>(positives.size());
  const double sum = std::accumulate(ranks.begin(), ranks.begin() + std::ssize(positives), 0.0);
  return (sum - n * (n + 1) / 2) / (n * static_cast<double>(negatives.size()));
}

}  // namespace attention_plasticity

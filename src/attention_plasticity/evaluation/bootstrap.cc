#include "attention_plasticity/evaluation/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "attention_plasticity/random/numpy_generator.h"
#include "attention_plasticity/stats/quantile.h"
#include "attention_plasticity/stats/rank.h"

namespace attention_plasticity {
namespace {

BootstrapInterval percentiles(std::vector<double> statistics, double confidence) {
  std::ranges::sort(statistics);
  return {quantile(statistics, (1 - confidence) / 2), quantile(statistics, (1 + confidence) / 2)};
}

// The ranks of one variable within resamples. Values are kept as dense ranks, so that counting gives the ranks of a
// resample without a sort.
class ResampledRanks {
 public:
  explicit ResampledRanks(std::span<const double> values)
      : dense_(dense_ranks(values)), count_(values.size()), deviation_(values.size()) {}

  /// Computes the ranks within the resample `drawn`, as deviations from their mean (n + 1) / 2.
  void take(std::span<const std::size_t> drawn) {
    std::ranges::fill(count_, 0);
    for (const std::size_t i : drawn) ++count_[dense_[i]];
    const double mean = static_cast<double>(drawn.size() + 1) / 2;
    std::size_t below = 0;
    for (std::size_t rank = 0; rank < count_.size(); ++rank) {
      deviation_[rank] = static_cast<double>(below) + static_cast<double>(count_[rank] + 1) / 2 - mean;
      below += count_[rank];
    }
  }
  double deviation(std::size_t i) const { return deviation_[dense_[i]]; }

 private:
  std::vector<std::size_t> dense_;
  std::vector<std::size_t> count_;
  std::vector<double> deviation_;
};

void draw(NumpyGenerator& generator, std::span<std::size_t> drawn) {
  for (std::size_t& i : drawn) i = static_cast<std::size_t>(generator.integers(drawn.size()));
}

}  // namespace

BootstrapInterval bootstrap_spearman(std::span<const double> x, std::span<const double> y,
                                     const BootstrapOptions& options) {
  ResampledRanks x_ranks(x);
  ResampledRanks y_ranks(y);
  NumpyGenerator generator(options.seed);
  std::vector<std::size_t> drawn(x.size());
  std::vector<double> correlations;
  for (std::size_t resample = 0; resample < options.resamples && !drawn.empty(); ++resample) {
    draw(generator, drawn);
    x_ranks.take(drawn);
    y_ranks.take(drawn);
    double xx = 0;
    double yy = 0;
    double xy = 0;
    for (const std::size_t i : drawn) {
      const double dx = x_ranks.deviation(i);
      const double dy = y_ranks.deviation(i);
      xx += dx * dx;
      yy += dy * dy;
      xy += dx * dy;
    }
    if (xx > 0 && yy > 0) correlations.push_back(std::clamp(xy / std::sqrt(xx * yy), -1.0, 1.0));
  }
  return percentiles(std::move(correlations), options.confidence);
}

BootstrapInterval bootstrap_roc_area(std::span<const double> positives, std::span<const double> negatives,
                                     const BootstrapOptions& options) {
  if (positives.empty() || negatives.empty()) return {};
  std::vector<double> all(positives.begin(), positives.end());
  all.insert(all.end(), negatives.begin(), negatives.end());
  const std::vector<std::size_t> dense = dense_ranks(all);
  const double pairs = static_cast<double>(positives.size()) * static_cast<double>(negatives.size());
  NumpyGenerator generator(options.seed);
  std::vector<std::size_t> drawn_positives(positives.size());
  std::vector<std::size_t> drawn_negatives(negatives.size());
  std::vector<double> areas;
  for (std::size_t resample = 0; resample < options.resamples; ++resample) {
    draw(generator, drawn_positives);
    draw(generator, drawn_negatives);
    std::vector<std::size_t> positives_at(all.size());
    std::vector<std::size_t> negatives_at(all.size());
    for (const std::size_t i : drawn_positives) ++positives_at[dense[i]];
    for (const std::size_t i : drawn_negatives) ++negatives_at[dense[positives.size() + i]];
    double won = 0;
    double below = 0;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      const auto level = static_cast<double>(negatives_at[rank]);
      won += static_cast<double>(positives_at[rank]) * (below + level / 2);
      below += level;
    }
    areas.push_back(won / pairs);
  }
  return percentiles(std::move(areas), options.confidence);
}

}  // namespace attention_plasticity

#include "attention_plasticity/evaluation/bootstrap.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <algorithm>
#include <cmath>
#include <vector>

#include "attention_plasticity/random/numpy_generator.h"
#include "attention_plasticity/stats/quantile.h"
#include "attention_plasticity/stats/rank.h"

namespace attention_plasticity {
namespace {

using Values = std::vector<double>;

Values resampled(const Values& values, const std::vector<std::size_t>& drawn) {
  Values result;
  for (const std::size_t i : drawn) result.push_back(values[i]);
  return result;
}

std::vector<std::size_t> drawn(NumpyGenerator& generator, std::size_t n) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < n; ++i) indices.push_back(static_cast<std::size_t>(generator.integers(n)));
  return indices;
}

BootstrapInterval percentiles(Values values, double confidence) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  std::ranges::sort(values);
  return {quantile(values, (1 - confidence) / 2), quantile(values, (1 + confidence) / 2)};
}

// The definition: every resample is ranked by itself.
BootstrapInterval naive_spearman(const Values& x, const Values& y, const BootstrapOptions& options) {
  NumpyGenerator generator(options.seed);
  Values values;
  for (std::size_t i = 0; i < options.resamples; ++i) {
    const auto indices = drawn(generator, x.size());
    values.push_back(spearman(resampled(x, indices), resampled(y, indices)));
  }
  return percentiles(values, options.confidence);
}

BootstrapInterval naive_roc_area(const Values& positives, const Values& negatives, const BootstrapOptions& options) {
  NumpyGenerator generator(options.seed);
  Values values;
  for (std::size_t i = 0; i < options.resamples; ++i) {
    const Values above = resampled(positives, drawn(generator, positives.size()));
    values.push_back(roc_area(above, resampled(negatives, drawn(generator, negatives.size()))));
  }
  return percentiles(values, options.confidence);
}

Values sample(std::size_t n, std::uint64_t seed, bool tied) {
  NumpyGenerator generator(seed);
  Values values;
  for (std::size_t i = 0; i < n; ++i) {
    const double value = generator.random();
    values.push_back(tied ? std::floor(5 * value) : value);
  }
  return values;
}

RC_GTEST_PROP(Bootstrap, SpearmanIntervalEqualsTheNaiveOne, (std::uint64_t seed, bool tied)) {
  const auto n = *rc::gen::inRange<std::size_t>(2, 40);
  const Values x = sample(n, seed, tied);
  const Values y = sample(n, seed ^ 1U, tied);
  const BootstrapOptions options{seed, 50, 0.9};
  const BootstrapInterval naive = naive_spearman(x, y, options);
  const BootstrapInterval fast = bootstrap_spearman(x, y, options);
  if (std::isnan(naive.low)) {
    RC_ASSERT(std::isnan(fast.low) && std::isnan(fast.high));
    return;
  }
  RC_ASSERT(fast.low == naive.low);
  RC_ASSERT(fast.high == naive.high);
}

RC_GTEST_PROP(Bootstrap, RocAreaIntervalEqualsTheNaiveOne, (std::uint64_t seed, bool tied)) {
  const Values positives = sample(*rc::gen::inRange<std::size_t>(1, 20), seed, tied);
  const Values negatives = sample(*rc::gen::inRange<std::size_t>(1, 20), seed ^ 1U, tied);
  const BootstrapOptions options{seed, 50, 0.9};
  const BootstrapInterval naive = naive_roc_area(positives, negatives, options);
  const BootstrapInterval fast = bootstrap_roc_area(positives, negatives, options);
  RC_ASSERT(std::abs(fast.low - naive.low) < 1e-14);
  RC_ASSERT(std::abs(fast.high - naive.high) < 1e-14);
}

TEST(Bootstrap, CoversTheTruthAboutAsOftenAsItSays) {
  // x and y are independent: the true correlation is 0. It should lie in 360 ± 6 of 400 intervals at 90 %; percentile
  // intervals of 40 pairs fall a little short.
  int covered = 0;
  for (std::uint64_t i = 0; i < 400; ++i) {
    const auto interval = bootstrap_spearman(sample(40, 2 * i, false), sample(40, 2 * i + 1, false), {i, 200, 0.9});
    covered += interval.low <= 0 && interval.high >= 0 ? 1 : 0;
  }
  EXPECT_GT(covered, 335);
  EXPECT_LT(covered, 385);
}

TEST(Bootstrap, WithoutResamplesHasNoInterval) {
  const Values values{1, 2, 3};
  EXPECT_TRUE(std::isnan(bootstrap_spearman(values, values, {0, 0, 0.95}).low));
  EXPECT_TRUE(std::isnan(bootstrap_roc_area(values, values, {0, 0, 0.95}).high));
}

TEST(Bootstrap, LeavesOutResamplesWithoutSpread) {
  // Half of the resamples of two pairs have no spread; the others have a correlation of 1.
  const BootstrapInterval interval = bootstrap_spearman(Values{1, 2}, Values{5, 9}, {});
  EXPECT_EQ(interval.low, 1.0);
  EXPECT_EQ(interval.high, 1.0);
  EXPECT_TRUE(std::isnan(bootstrap_spearman(Values{1, 1}, Values{5, 9}, {}).low));
  EXPECT_TRUE(std::isnan(bootstrap_spearman({}, {}, {}).low));
  EXPECT_TRUE(std::isnan(bootstrap_roc_area({}, Values{1}, {}).low));
}

TEST(Bootstrap, WidensWithConfidence) {
  const Values x = sample(30, 1, false);
  const Values y = sample(30, 2, false);
  const BootstrapInterval narrow = bootstrap_spearman(x, y, {0, 500, 0.5});
  const BootstrapInterval wide = bootstrap_spearman(x, y, {0, 500, 0.99});
  EXPECT_LT(wide.low, narrow.low);
  EXPECT_GT(wide.high, narrow.high);
}

}  // namespace
}  // namespace attention_plasticity

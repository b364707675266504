#include "attention_plasticity/stats/jackknife.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace attention_plasticity {
namespace {

// For a mean, leaving out one value at a time gives exactly the textbook error of the mean, s / sqrt(n).
TEST(Jackknife, OfMeanIsStandardErrorOfMean) {
  const std::vector<double> x{3, 1, 4, 1, 5, 9, 2, 6};
  const auto n = static_cast<double>(x.size());
  const double sum = std::accumulate(x.begin(), x.end(), 0.0);
  std::vector<double> without;
  double squares = 0;
  for (const double value : x) {
    without.push_back((sum - value) / (n - 1));
    squares += (value - sum / n) * (value - sum / n);
  }
  EXPECT_NEAR(jackknife_error(without), std::sqrt(squares / (n - 1) / n), 1e-15);
}

TEST(Jackknife, IsEmptyForFewerThanThreeGroups) {
  EXPECT_TRUE(std::isnan(jackknife_error(std::vector<double>{})));
  EXPECT_TRUE(std::isnan(jackknife_error(std::vector<double>{1, 2})));
  EXPECT_FALSE(std::isnan(jackknife_error(std::vector<double>{1, 2, 3})));
}

TEST(Jackknife, IsEmptyWhenNothingIsLeftWithoutSomeGroup) {
  EXPECT_TRUE(std::isnan(jackknife_error(std::vector<double>{1, std::numeric_limits<double>::quiet_NaN(), 3})));
}

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(MeanOverHeads, LeavesOutHeadsWithNothingLeft) {
  const std::vector<LeaveOneOut> heads{{{0, 1, 2}, {1, 2, nan}}, {{0, 1, 2}, {3, nan, nan}}};
  const LeaveOneOut means = mean_over_heads(heads);
  ASSERT_EQ(means.values.size(), 3U);
  EXPECT_EQ(means.values[0], 2);
  EXPECT_EQ(means.values[1], 2);
  EXPECT_TRUE(std::isnan(means.values[2]));
  EXPECT_TRUE(mean_over_heads({}).groups.empty());
}

TEST(MeanOverHeads, IsOfTheGroupsThatAllHeadsHave) {
  const std::vector<LeaveOneOut> heads{{{0, 2, 5}, {1, 2, 3}}, {{2, 4, 5}, {4, 8, 5}}};
  const LeaveOneOut means = mean_over_heads(heads);
  EXPECT_EQ(means.groups, (std::vector<std::size_t>{2, 5}));
  EXPECT_EQ(means.values, (std::vector<double>{3, 4}));
}

TEST(DifferenceOf, IsOfTheGroupsThatBothHave) {
  const LeaveOneOut difference = difference_of({{0, 2, 5}, {1, 2, 3}}, {{2, 4, 5}, {4, 8, 5}});
  EXPECT_EQ(difference.groups, (std::vector<std::size_t>{2, 5}));
  EXPECT_EQ(difference.values, (std::vector<double>{2, 2}));
}

}  // namespace
}  // namespace attention_plasticity

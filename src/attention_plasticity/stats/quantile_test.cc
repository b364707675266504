#include "attention_plasticity/stats/quantile.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace attention_plasticity {
namespace {

TEST(Median, IsTheMiddleValueOrTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(median({3.0}), 3.0);
  EXPECT_EQ(median({9.0, 1.0, 4.0}), 4.0);
  EXPECT_EQ(median({9.0, 1.0, 4.0, 5.0}), 4.5);
  EXPECT_EQ(median({2.0, 2.0, 2.0, 7.0}), 2.0);
}

TEST(Median, OfNothingIsNaN) { EXPECT_TRUE(std::isnan(median({}))); }

TEST(Median, TakesInfinitiesAsValues) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(median({infinity, 1.0, -infinity}), 1.0);
}

RC_GTEST_PROP(Median, IsTheQuantileAtOneHalf, (std::vector<std::int16_t> numbers)) {
  std::vector<double> values(numbers.begin(), numbers.end());
  if (values.empty()) values.push_back(0.0);
  const double middle = median(values);
  std::sort(values.begin(), values.end());
  RC_ASSERT(middle == quantile(values, 0.5));
}

TEST(Quantile, IsLinearBetweenNeighboursAsNumPy) {
  const std::vector<double> values{1.0, 2.0, 4.0, 8.0};
  EXPECT_EQ(quantile(values, 0.25), 1.75);
  EXPECT_EQ(quantile(values, 0.5), 3.0);
  EXPECT_EQ(quantile(values, 0.75), 5.0);
  // np.quantile([0.1, 0.2, 0.7, 1.1, 3.3], [0.1, 0.3, 0.9]), NumPy 2.4.
  const std::vector<double> others{0.1, 0.2, 0.7, 1.1, 3.3};
  EXPECT_DOUBLE_EQ(quantile(others, 0.1), 0.14);
  EXPECT_DOUBLE_EQ(quantile(others, 0.3), 0.3);
  EXPECT_DOUBLE_EQ(quantile(others, 0.9), 2.42);
}

TEST(Quantile, MeetsBothEndsExactly) {
  const std::vector<double> values{-1.0 / 3.0, 0.1, 0.7};
  EXPECT_EQ(quantile(values, 0.0), -1.0 / 3.0);
  EXPECT_EQ(quantile(values, 1.0), 0.7);
  EXPECT_EQ(quantile(values, -0.5), -1.0 / 3.0);
  EXPECT_EQ(quantile(values, 1.5), 0.7);
}

TEST(Quantile, OfOneValueIsThatValueAndOfNothingIsNaN) {
  const std::vector<double> one{5.0};
  EXPECT_EQ(quantile(one, 0.25), 5.0);
  EXPECT_TRUE(std::isnan(quantile({}, 0.5)));
}

RC_GTEST_PROP(Quantile, RisesWithTheRankAndStaysInRange, (std::vector<std::int16_t> numbers)) {
  std::vector<double> values(numbers.begin(), numbers.end());
  values.push_back(0.0);
  std::sort(values.begin(), values.end());
  double previous = values.front();
  for (int step = 0; step <= 64; ++step) {
    const double value = quantile(values, step / 64.0);
    RC_ASSERT(value >= previous);
    RC_ASSERT(value <= values.back());
    previous = value;
  }
}

}  // namespace
}  // namespace attention_plasticity

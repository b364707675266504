#include "attention_plasticity/stats/rank.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

using Values = std::vector<double>;

// Few distinct values, so that there are many ties.
Values tied(const std::vector<std::int8_t>& numbers) {
  Values values;
  for (const std::int8_t number : numbers) values.push_back(number % 7);
  return values;
}

double naive_rank(const Values& values, double value) {
  const auto below = std::ranges::count_if(values, [&](double other) { return other < value; });
  const auto equal = std::ranges::count(values, value);
  return static_cast<double>(below) + static_cast<double>(equal + 1) / 2;
}

double naive_pearson(const Values& x, const Values& y) {
  const auto mean = [](const Values& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
  };
  const double mean_x = mean(x);
  const double mean_y = mean(y);
  double xx = 0;
  double yy = 0;
  double xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  return xy / std::sqrt(xx * yy);
}

TEST(DenseRanks, NumberTheDistinctValues) {
  EXPECT_EQ(dense_ranks(Values{5, -1, 5, 3, -1}), (std::vector<std::size_t>{2, 0, 2, 1, 0}));
  EXPECT_TRUE(dense_ranks({}).empty());
}

TEST(AverageRanks, ShareTheMeanOfTies) {
  EXPECT_EQ(average_ranks(Values{10, 20, 20, 5, 20}), (Values{2, 4, 4, 1, 4}));
  EXPECT_EQ(average_ranks(Values{7, 7}), (Values{1.5, 1.5}));
}

TEST(AverageRanks, TakeInfinitiesAsValues) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(average_ranks(Values{infinity, 0, -infinity}), (Values{3, 2, 1}));
}

RC_GTEST_PROP(AverageRanks, AreThoseOfTheNaiveCount, (const std::vector<std::int8_t>& numbers)) {
  const Values values = tied(numbers);
  const Values ranks = average_ranks(values);
  for (std::size_t i = 0; i < values.size(); ++i) RC_ASSERT(ranks[i] == naive_rank(values, values[i]));
}

TEST(Spearman, IsTheClassicFormulaWithoutTies) {
  // 1 - 6 sum d^2 / (n (n^2 - 1)), with the rank differences 1, 1, 2, 0, 2: sum d^2 = 10.
  EXPECT_DOUBLE_EQ(spearman(Values{1, 2, 3, 4, 5}, Values{2, 1, 5, 4, 3}), 1 - 60.0 / 120);
}

TEST(Spearman, OfTiesIsPearsonOfTheRanks) {
  // Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: 4.5 / sqrt(4.5 * 5).
  EXPECT_DOUBLE_EQ(spearman(Values{0, 3, 3, 9}, Values{1, 2, 3, 4}), std::sqrt(0.9));
}

TEST(Spearman, IsExactlyOneForAnyRisingFunction) {
  Values x;
  Values up;
  Values down;
  for (int i = 0; i < 1000; ++i) {
    x.push_back(std::sin(i));
    up.push_back(std::exp(3 * x.back()));
    down.push_back(-x.back());
  }
  EXPECT_EQ(spearman(x, up), 1.0);
  EXPECT_EQ(spearman(x, down), -1.0);
}

TEST(Spearman, DoesNotExistWithoutSpread) {
  EXPECT_TRUE(std::isnan(spearman(Values{1, 1, 1}, Values{1, 2, 3})));
  EXPECT_TRUE(std::isnan(spearman(Values{1, 2, 3}, Values{1, 1, 1})));
  EXPECT_TRUE(std::isnan(spearman(Values{1}, Values{2})));
  EXPECT_TRUE(std::isnan(spearman({}, {})));
}

TEST(Spearman, RefusesDifferentSizes) { EXPECT_THROW(spearman(Values{1, 2}, Values{1}), Error); }

RC_GTEST_PROP(Spearman, IsPearsonOfNaiveRanks, (const std::vector<std::int8_t>& numbers)) {
  Values x = tied(numbers);
  Values y;
  for (std::size_t i = 0; i < x.size(); ++i) y.push_back(numbers[(i * 5 + 1) % x.size()] / 16);
  Values x_ranks;
  Values y_ranks;
  for (std::size_t i = 0; i < x.size(); ++i) {
    x_ranks.push_back(naive_rank(x, x[i]));
    y_ranks.push_back(naive_rank(y, y[i]));
  }
  const double rho = spearman(x, y);
  if (std::isnan(rho)) {
    const auto constant = [](const Values& values) {
      return values.empty() || std::ranges::count(values, values[0]) == std::ssize(values);
    };
    RC_ASSERT(constant(x) || constant(y));
    return;
  }
  RC_ASSERT(std::abs(rho - naive_pearson(x_ranks, y_ranks)) < 1e-12);
  RC_ASSERT(rho == spearman(y, x));
}

TEST(RocArea, CountsPairs) {
  EXPECT_EQ(roc_area(Values{3, 4}, Values{1, 2}), 1.0);
  EXPECT_EQ(roc_area(Values{1, 2}, Values{3, 4}), 0.0);
  EXPECT_EQ(roc_area(Values{2, 2}, Values{2, 2, 2}), 0.5);
  // Six pairs: 3 > 1, 3 > 2 and 2 > 1 are won, 2 = 2 is half a win, and 0 loses to both.
  EXPECT_DOUBLE_EQ(roc_area(Values{0, 2, 3}, Values{1, 2}), 3.5 / 6);
}

TEST(RocArea, OfAnEmptySideDoesNotExist) {
  EXPECT_TRUE(std::isnan(roc_area({}, Values{1})));
  EXPECT_TRUE(std::isnan(roc_area(Values{1}, {})));
}

RC_GTEST_PROP(RocArea, IsTheShareOfPairsWon,
              (const std::vector<std::int8_t>& first, const std::vector<std::int8_t>& second)) {
  Values positives = tied(first);
  Values negatives = tied(second);
  positives.push_back(1);
  negatives.push_back(2);
  double won = 0;
  for (const double positive : positives) {
    for (const double negative : negatives) won += positive > negative ? 1 : positive == negative ? 0.5 : 0;
  }
  const double pairs = static_cast<double>(positives.size() * negatives.size());
  RC_ASSERT(std::abs(roc_area(positives, negatives) - won / pairs) < 1e-14);
  RC_ASSERT(std::abs(roc_area(negatives, positives) - (1 - won / pairs)) < 1e-14);
}

}  // namespace
}  // namespace attention_plasticity

#include "attention_plasticity/stats/false_discovery.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

namespace attention_plasticity {
namespace {

TEST(FalseDiscoveryQ, OfAnExampleByHand) {
  // Ranks 1, 4, 2, 3 of 4: 0.04, 0.8, 0.08 and 0.04 * 4 / 3.
  const std::vector<double> q = false_discovery_q(std::vector<double>{0.01, 0.8, 0.04, 0.04});
  EXPECT_DOUBLE_EQ(q[0], 0.04);
  EXPECT_DOUBLE_EQ(q[1], 0.8);
  EXPECT_DOUBLE_EQ(q[2], 0.04 * 4 / 3);
  EXPECT_DOUBLE_EQ(q[3], 0.04 * 4 / 3) << "the next larger p gives less than its own rank";
}

TEST(FalseDiscoveryQ, CountsOnlyWhatExists) {
  const std::vector<double> q = false_discovery_q(std::vector<double>{std::nan(""), 0.02, std::nan("")});
  EXPECT_TRUE(std::isnan(q[0]));
  EXPECT_EQ(q[1], 0.02);
}

RC_GTEST_PROP(FalseDiscoveryQ, IsTheDefinition, ()) {
  const auto numbers = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1001));
  std::vector<double> p(numbers.size());
  std::ranges::transform(numbers, p.begin(), [](int number) { return number / 1000.0; });
  const std::vector<double> q = false_discovery_q(p);
  for (std::size_t i = 0; i < p.size(); ++i) {
    double least = 1;
    for (const double other : p) {
      if (other < p[i]) continue;
      const auto rank = std::ranges::count_if(p, [&](double value) { return value <= other; });
      least = std::min(least, other * static_cast<double>(p.size()) / static_cast<double>(rank));
    }
    RC_ASSERT(std::abs(q[i] - least) <= 1e-15);
    RC_ASSERT(q[i] >= p[i]);
  }
}

}  // namespace
}  // namespace attention_plasticity

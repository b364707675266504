#include "attention_plasticity/stats/normal.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <cmath>
#include <limits>

namespace attention_plasticity {
namespace {

struct Pinned {
  double z;
  double phi;
};

// Computed in 60-digit arithmetic for exactly these doubles.
constexpr Pinned lower_tail[] = {
    {-0.25, 0.40129367431707627576},    {-1.0, 0.15865525393145705141},      {-2.5, 0.006209665325776135167},
    {-5.0, 2.8665157187919391167e-7},   {-8.3, 5.2055697448902540246e-17},   {-12.0, 1.7764821120776789977e-33},
    {-20.0, 2.7536241186062336951e-89}, {-30.0, 4.9067139271481870595e-198}, {-37.0, 5.7255712225245768227e-300},
};

TEST(NormalCdf, KeepsItsDigitsInTheLowerTail) {
  for (const auto& [z, phi] : lower_tail) {
    EXPECT_NEAR(normal_cdf(z) / phi, 1.0, 3.0 * (1.0 + z * z) * std::numeric_limits<double>::epsilon()) << "z = " << z;
  }
}

TEST(NormalCdf, IsOneHalfAtZeroAndReachesItsLimits) {
  EXPECT_EQ(normal_cdf(0.0), 0.5);
  EXPECT_EQ(normal_cdf(std::numeric_limits<double>::infinity()), 1.0);
  EXPECT_EQ(normal_cdf(-std::numeric_limits<double>::infinity()), 0.0);
  EXPECT_EQ(normal_cdf(-40.0), 0.0);
  EXPECT_TRUE(std::isnan(normal_cdf(std::numeric_limits<double>::quiet_NaN())));
}

RC_GTEST_PROP(NormalCdf, TailsSumToOne, ()) {
  const double z = *rc::gen::inRange(-8000, 8001) / 1000.0;
  RC_ASSERT(std::abs(normal_cdf(z) + normal_cdf(-z) - 1.0) <= 2.3e-16);
}

}  // namespace
}  // namespace attention_plasticity

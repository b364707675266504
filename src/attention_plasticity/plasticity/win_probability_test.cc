#include "attention_plasticity/plasticity/win_probability.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "places.h"

namespace attention_plasticity {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Golden {
  double z;
  double plasticity;
};

std::vector<Golden> golden_values() {
  std::ifstream file(source_folder() / "tests/golden/plasticity_of_z.csv");
  std::string line;
  std::getline(file, line);
  std::vector<Golden> values;
  while (std::getline(file, line)) {
    const std::size_t comma = line.find(',');
    // strtod, unlike a stream, reads numbers below the smallest double as 0.
    values.push_back({std::strtod(line.c_str(), nullptr), std::strtod(line.c_str() + comma + 1, nullptr)});
  }
  return values;
}

TEST(PlasticityOfZ, IsRightToTwelveDigitsDownTo1em300) {
  const auto golden = golden_values();
  ASSERT_EQ(golden.size(), 20U);
  for (const auto& [z, expected] : golden) {
    const double least = std::numeric_limits<double>::min();
    EXPECT_NEAR(plasticity_of_z(z), expected, std::max(1e-12 * expected, expected < 1e-300 ? least : 0.0))
        << "z = " << z;
  }
}

TEST(PlasticityOfZ, IsOneAtZeroAndZeroAtTheInfinities) {
  EXPECT_EQ(plasticity_of_z(0.0), 1.0);
  EXPECT_EQ(plasticity_of_z(infinity), 0.0);
  EXPECT_EQ(plasticity_of_z(-infinity), 0.0);
  EXPECT_TRUE(std::isnan(plasticity_of_z(std::numeric_limits<double>::quiet_NaN())));
}

RC_GTEST_PROP(PlasticityOfZ, IsEvenFallsWithDistanceAndStaysInRange, ()) {
  const double z = *rc::gen::inRange(0, 40000) / 1000.0;
  const double here = plasticity_of_z(z);
  RC_ASSERT(here == plasticity_of_z(-z));
  RC_ASSERT(here >= 0.0);
  RC_ASSERT(here <= 1.0);
  RC_ASSERT(here >= plasticity_of_z(z + 0.001));
}

TEST(Plasticity, DependsOnMeanOverDeviation) {
  EXPECT_EQ(plasticity(3.0, 4.0), plasticity_of_z(1.5));
  EXPECT_EQ(plasticity(-3.0, 4.0), plasticity_of_z(1.5));
  EXPECT_EQ(plasticity(0.0, 4.0), 1.0);
  EXPECT_EQ(plasticity(1.0, std::numeric_limits<double>::denorm_min()), 0.0);
}

TEST(Plasticity, WithoutVarianceIsOneForATieAndZeroOtherwise) {
  for (const double variance : {0.0, -0.0, -1e-18}) {
    EXPECT_EQ(plasticity(0.0, variance), 1.0);
    EXPECT_EQ(plasticity(-0.0, variance), 1.0);
    EXPECT_EQ(plasticity(1e-300, variance), 0.0);
    EXPECT_EQ(plasticity(-2.0, variance), 0.0);
  }
}

}  // namespace
}  // namespace attention_plasticity

#include "attention_plasticity/plasticity/win_probability_kernel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "attention_plasticity/base/highway_targets_testing.h"
#include "attention_plasticity/plasticity/win_probability.h"

namespace attention_plasticity {
namespace {

// In long double: 4 Phi(z) Phi(-z).
double exact_plasticity(double z) {
  const long double lesser = 0.5L * std::erfc(std::abs(static_cast<long double>(z)) / std::sqrt(2.0L));
  return static_cast<double>(4 * lesser * (1 - lesser));
}

TEST(PlasticityOfPairs, KeepsItsDigitsFarOut) {
  std::vector<double> z(40001);
  for (std::size_t i = 0; i < z.size(); ++i) z[i] = (static_cast<double>(i) - 20000) * 37.0 / 20000;
  const std::vector<double> variance(z.size(), 1.0);
  for_every_target([&](const char* target) {
    std::vector<double> values(z.size());
    plasticity_of_pairs(z, variance, values);
    for (std::size_t i = 0; i < z.size(); ++i) {
      const double expected = exact_plasticity(z[i]);
      ASSERT_NEAR(values[i], expected, 1e-13 * expected) << target << ", z = " << z[i];
    }
  });
}

// Lengths around whole vectors, with and without a scalar rest.
TEST(PlasticityOfPairs, AgreesWithOnePairAtATime) {
  for (std::size_t n = 0; n <= 40; ++n) {
    std::vector<double> mean(n), variance(n);
    for (std::size_t i = 0; i < n; ++i) {
      mean[i] = 0.3 * static_cast<double>(i % 7) - 1;
      variance[i] = 0.1 * static_cast<double>(i % 5);
    }
    for_every_target([&](const char* target) {
      std::vector<double> values = mean;
      plasticity_of_pairs(values, variance, values);
      for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(values[i], plasticity(mean[i], variance[i]), 1e-14) << target;
    });
  }
}

TEST(PlasticityOfPairs, WithoutVarianceIsOneForATieOnly) {
  const std::vector<double> mean{0, 1, -1, 0, 1e-300, 0, -0.0, 2, 0, 1, 0, 1, 0, 1, 0, 1};
  const std::vector<double> variance{0, 0, 0, -1, 0, 1, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0};
  const std::vector<double> expected{1, 0, 0, 1, 0, 1, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0};
  for_every_target([&](const char* target) {
    std::vector<double> values(mean.size());
    plasticity_of_pairs(mean, variance, values);
    EXPECT_EQ(values, expected) << target;
  });
}

TEST(PlasticityOfPairs, EndsAtZero) {
  const std::vector<double> mean{38, 39, 1e3, 1e200, -1e308, 40, -41, 100, 38, 39, 1e3, 1e200, -1e308, 40, -41, 100};
  const std::vector<double> variance{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1e-300, 1e-300, 1, 1, 1};
  for_every_target([&](const char* target) {
    std::vector<double> values(mean.size());
    plasticity_of_pairs(mean, variance, values);
    for (const double value : values) EXPECT_TRUE(value >= 0 && value < 1e-310) << target << " " << value;
  });
}

}  // namespace
}  // namespace attention_plasticity

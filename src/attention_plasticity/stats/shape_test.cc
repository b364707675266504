#include "attention_plasticity/stats/shape.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "attention_plasticity/stats/shape_testing.h"
#include "places.h"

namespace attention_plasticity {
namespace {

nlohmann::json golden_cases() {
  std::ifstream file(source_folder() / "tests/golden/normality_cases.json");
  return nlohmann::json::parse(file);
}

void expect_relative(double value, double expected, double tolerance) {
  EXPECT_NEAR(value, expected, tolerance * std::abs(expected));
}

TEST(Shape, AgreesWithSciPy) {
  const auto cases = golden_cases();
  ASSERT_EQ(cases.size(), 6U);
  for (const auto& golden : cases) {
    const auto x = golden.at("x").get<std::vector<double>>();
    SCOPED_TRACE(x.size());
    const Shape shape = sample_shape(x);
    expect_relative(shape.skewness, golden.at("skew"), 1e-13);
    if (!golden.at("kurtosis").is_null()) expect_relative(shape.excess_kurtosis, golden.at("kurtosis"), 1e-13);
  }
}

TEST(Shape, OfThreeValuesHasItsKurtosisUncorrected) {
  // About the mean 1: -1, -1, 2, so that m2 = 2, m3 = 2, m4 = 6.
  const Shape shape = sample_shape(std::vector<double>{0.0, 0.0, 3.0});
  expect_relative(shape.skewness, std::sqrt(3.0), 1e-15);
  EXPECT_DOUBLE_EQ(shape.excess_kurtosis, -1.5);
}

TEST(Shape, OfFourValuesIsCorrected) {
  // About the mean 1: -1, -1, -1, 3, so that m2 = 3, m3 = 6, m4 = 21, g2 = -2/3, G2 = (5 g2 + 6) 3/2 = 4.
  const Shape shape = sample_shape(std::vector<double>{0.0, 0.0, 0.0, 4.0});
  expect_relative(shape.skewness, 2.0, 1e-15);
  expect_relative(shape.excess_kurtosis, 4.0, 1e-15);
}

TEST(Shape, IsZeroWithoutSpreadOrWithFewerThanThreeValues) {
  // Three, six or seven values of 0.1 have a rounded sum.
  for (const std::size_t n : {0U, 1U, 2U, 3U, 6U, 7U, 1000U}) {
    const Shape shape = sample_shape(std::vector<double>(n, 0.1));
    EXPECT_EQ(shape.skewness, 0.0) << n;
    EXPECT_EQ(shape.excess_kurtosis, 0.0) << n;
  }
  const Shape two = sample_shape(std::vector<double>{1.0, 2.0});
  EXPECT_EQ(two.skewness, 0.0);
  EXPECT_EQ(two.excess_kurtosis, 0.0);
}

std::vector<double> sample(const std::vector<std::int16_t>& numbers) {
  std::vector<double> x(numbers.begin(), numbers.end());
  x.insert(x.end(), {-1.5, 0.25, 4.0, 7.0});
  return x;
}

RC_GTEST_PROP(Shape, DoesNotChangeWithShiftAndScale, (const std::vector<std::int16_t>& numbers)) {
  const auto x = sample(numbers);
  auto moved = x;
  for (double& value : moved) value = 3.0 * value + 100.0;
  const Shape a = sample_shape(x);
  const Shape b = sample_shape(moved);
  RC_ASSERT(std::abs(a.skewness - b.skewness) <= 1e-10 * (1.0 + std::abs(a.skewness)));
  RC_ASSERT(std::abs(a.excess_kurtosis - b.excess_kurtosis) <= 1e-10 * (1.0 + std::abs(a.excess_kurtosis)));
}

RC_GTEST_PROP(Shape, MirrorsItsSkewness, (const std::vector<std::int16_t>& numbers)) {
  const auto x = sample(numbers);
  auto mirrored = x;
  for (double& value : mirrored) value = -value;
  RC_ASSERT(sample_shape(mirrored).skewness == -sample_shape(x).skewness);
  RC_ASSERT(sample_shape(mirrored).excess_kurtosis == sample_shape(x).excess_kurtosis);
}

}  // namespace
}  // namespace attention_plasticity

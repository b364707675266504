#include "attention_plasticity/analysis/query_statistics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "attention_plasticity/plasticity/random_rows_testing.h"

namespace attention_plasticity {
namespace {

TEST(ScalarPredictability, IsPerfectWhereProjectionIsLogPosition) {
  const std::vector<double> position{0, 1, 3, 7, 15};
  Matrix x(5, 2);
  for (std::size_t i = 0; i < 5; ++i) x.row(i)[0] = 3 * std::log2(position[i] + 1) - 1;
  const ScalarPredictability result = scalar_predictability(position, x, std::vector<double>{2, 0});
  EXPECT_NEAR(result.r_squared, 1, 1e-14);
  EXPECT_DOUBLE_EQ(result.mae_baseline, 1.2);
  EXPECT_NEAR(result.mae_projection, 0, 1e-14);
  EXPECT_NEAR(result.mae_ratio, 0, 1e-14);
}

TEST(ScalarPredictability, IsNoneWithoutSlopeOrSpread) {
  const std::vector<double> position{0, 1, 3};
  for (const std::vector<double>& beta : {std::vector<double>{0, 0}, std::vector<double>{0, 1}}) {
    const ScalarPredictability result = scalar_predictability(position, Matrix(3, 2), beta);
    EXPECT_EQ(result.r_squared, 0);
    EXPECT_EQ(result.mae_projection, result.mae_baseline);
    EXPECT_EQ(result.mae_ratio, 1);
  }
}

TEST(ScalarPredictability, OfConstantPositionHasRatioOne) {
  NumpyGenerator generator(1);
  const ScalarPredictability result =
      scalar_predictability(std::vector<double>{5, 5, 5}, random_matrix(3, 1, generator), std::vector<double>{1});
  EXPECT_EQ(result.r_squared, 0);
  EXPECT_EQ(result.mae_baseline, 0);
  EXPECT_EQ(result.mae_ratio, 1);
}

TEST(ResidualNormality, IsNeutralForFewRowsAndNoSpread) {
  const Normality few = residual_normality(std::vector<double>{0, 1}, Matrix(2, 1), 0, 0);
  EXPECT_EQ(few.skewness, 0);
  EXPECT_EQ(few.ks_p, 1);
  Matrix line(4, 1);
  for (std::size_t i = 0; i < 4; ++i) line.row(i)[0] = 2.0 * static_cast<double>(i);
  const Normality flat = residual_normality(std::vector<double>{0, 1, 2, 3}, line, 0, 2);
  EXPECT_EQ(flat.skewness, 0);
  EXPECT_EQ(flat.excess_kurtosis, 0);
  EXPECT_EQ(flat.ks_p, 1);
}

TEST(ResidualNormality, TellsNormalFromUniform) {
  NumpyGenerator generator(2);
  constexpr std::size_t n = 2000;
  const std::vector<double> position(n, 0.0);
  const Normality normal = residual_normality(position, random_matrix(n, 1, generator), 0, 0);
  EXPECT_GT(normal.ks_p, 0.01);
  EXPECT_NEAR(normal.excess_kurtosis, 0, 5 * std::sqrt(24.0 / n));
  Matrix uniform(n, 1);
  for (std::size_t i = 0; i < n; ++i) uniform.row(i)[0] = generator.random();
  const Normality flat = residual_normality(position, uniform, 0, 0);
  EXPECT_LT(flat.ks_p, 1e-6);
  EXPECT_NEAR(flat.excess_kurtosis, -1.2, 0.1);
}

TEST(NoiseNormality, LeavesOutFirstComponentAndRejectsAtLevelForNormals) {
  NumpyGenerator generator(3);
  Matrix x = random_matrix(500, 41, generator);
  for (std::size_t i = 0; i < 500; ++i) x.row(i)[0] = i == 0 ? 1e6 : 0;  // would dominate every median
  const NoiseNormality noise = noise_normality(x, 64, 0.01, 0);
  EXPECT_LT(noise.median_abs_skewness, 0.3);
  EXPECT_LT(noise.median_abs_excess_kurtosis, 0.5);
  EXPECT_LE(noise.share_below_alpha, 0.1);
  EXPECT_GT(noise.median_ks_p, 0.1);
}

TEST(NoiseNormality, OfTwoComponentsIsThatOfTheSecond) {
  NumpyGenerator generator(8);
  Matrix x = random_matrix(50, 2, generator);
  const NoiseNormality before = noise_normality(x, 64, 0.01, 0);
  for (std::size_t i = 0; i < 50; ++i) x.row(i)[0] = i == 0 ? 1e6 : 0;
  const NoiseNormality after = noise_normality(x, 64, 0.01, 0);
  EXPECT_EQ(before.median_abs_skewness, after.median_abs_skewness);
  EXPECT_EQ(before.median_ks_p, after.median_ks_p);
  x.row(0)[1] += 100;
  EXPECT_GT(noise_normality(x, 64, 0.01, 0).median_abs_skewness, 5);
}

TEST(NoiseNormality, CountsComponentsWithoutSpreadAsNormal) {
  const NoiseNormality noise = noise_normality(Matrix(10, 4), 64, 0.01, 0);
  EXPECT_EQ(noise.median_abs_skewness, 0);
  EXPECT_EQ(noise.median_ks_p, 1);
  EXPECT_EQ(noise.share_below_alpha, 0);
}

TEST(NoiseNormality, IsNeutralForFewRowsAndOneComponentAndUntestedForNoDims) {
  NumpyGenerator generator(4);
  EXPECT_EQ(noise_normality(random_matrix(2, 5, generator), 64, 0.01, 0).median_ks_p, 1);
  EXPECT_EQ(noise_normality(random_matrix(20, 1, generator), 64, 0.01, 0).share_below_alpha, 0);
  const NoiseNormality untested = noise_normality(random_matrix(20, 5, generator), 0, 0.01, 0);
  EXPECT_TRUE(std::isnan(untested.median_ks_p));
  EXPECT_TRUE(std::isnan(untested.share_below_alpha));
  EXPECT_GT(untested.median_abs_skewness, 0);
}

TEST(ComponentWeights, AreSharesOfPositiveFit) {
  EXPECT_EQ(component_weights(std::vector<double>{0.25, -0.5, 0.75}), (std::vector<double>{0.25, 0, 0.75}));
  EXPECT_EQ(component_weights(std::vector<double>{-0.1, 0, 0, 0}), (std::vector<double>(4, 0.25)));
}

}  // namespace
}  // namespace attention_plasticity

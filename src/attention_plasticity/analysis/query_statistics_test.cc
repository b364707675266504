#include "attention_plasticity/analysis/query_statistics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "attention_plasticity/plasticity/random_rows_testing.h"
#include "attention_plasticity/stats/line_fit.h"

namespace attention_plasticity {
namespace {

std::vector<double> random_normals(std::size_t n, NumpyGenerator& generator) {
  std::vector<double> values(n);
  for (double& value : values) value = random_normal(generator);
  return values;
}

// Queries without a slope, which are not reflected.
struct Queries {
  std::size_t width;
  std::vector<float> values;

  Queries(std::size_t rows, std::size_t columns) : width(columns), values(rows * columns) {}
  Queries(std::size_t rows, std::size_t columns, NumpyGenerator& generator) : Queries(rows, columns) {
    for (float& value : values) value = static_cast<float>(random_normal(generator));
  }
  float* row(std::size_t i) { return values.data() + i * width; }
};

double energy_of(const Queries& queries) {
  double energy = 0;
  for (const float value : queries.values) energy += double{value} * double{value};
  return energy;
}

NoiseNormality noise_normality(const Queries& queries, std::size_t max_dims, double p_alpha, std::uint64_t seed) {
  const std::vector<double> position(queries.values.size() / queries.width, 0.0);
  const LineSums sums = sum_rows(position, queries.values, queries.width);
  const std::vector<bool> tested = tested_components(position.size(), queries.width, max_dims, seed);
  const ReflectedRows rows(queries.values, std::vector<double>(queries.width, 1.0),
                           Householder(std::vector<double>(queries.width)), sums.mean, tested);
  return reflected_components(rows, tested, p_alpha, energy_of(queries)).noise;
}

TEST(ScalarPredictability, IsPerfectWhereProjectionIsLogPosition) {
  const std::vector<double> position{0, 1, 3, 7, 15};
  std::vector<double> s;
  for (const double t : position) s.push_back(3 * std::log2(t + 1) - 1);
  const ScalarPredictability result = scalar_predictability(position, s);
  EXPECT_NEAR(result.r_squared, 1, 1e-14);
  EXPECT_DOUBLE_EQ(result.mae_baseline, 1.2);
  EXPECT_NEAR(result.mae_projection, 0, 1e-14);
  EXPECT_NEAR(result.mae_ratio, 0, 1e-14);
}

TEST(ScalarPredictability, IsNoneWithoutSlopeOrSpread) {
  const std::vector<double> position{0, 1, 3};
  for (const std::vector<double>& s : {std::vector<double>{}, std::vector<double>{0.1, 0.1, 0.1}}) {
    const ScalarPredictability result = scalar_predictability(position, s);
    EXPECT_EQ(result.r_squared, 0);
    EXPECT_EQ(result.mae_projection, result.mae_baseline);
    EXPECT_EQ(result.mae_ratio, 1);
  }
}

TEST(ScalarPredictability, OfConstantPositionHasRatioOne) {
  const ScalarPredictability result = scalar_predictability(std::vector<double>{5, 5, 5}, std::vector<double>{1, 4, 2});
  EXPECT_EQ(result.r_squared, 0);
  EXPECT_EQ(result.mae_baseline, 0);
  EXPECT_EQ(result.mae_ratio, 1);
}

TEST(ScalarPredictability, TakesPositionsThatAreFarOrNotWhole) {
  const std::vector<double> position{0.5, 4095, 4096, 1e6, 4095, 0};
  std::vector<double> s;
  for (const double t : position) s.push_back(std::log2(t + 1));
  const ScalarPredictability result = scalar_predictability(position, s);
  EXPECT_NEAR(result.r_squared, 1, 1e-14);
  EXPECT_NEAR(result.mae_projection, 0, 1e-14);
}

TEST(ResidualNormality, IsNeutralForFewRowsAndNoSpread) {
  const Normality few = residual_normality(std::vector<double>{0, 1}, std::vector<double>(2), 0);
  EXPECT_EQ(few.skewness, 0);
  EXPECT_EQ(few.ks_p, 1);
  const Normality flat =
      residual_normality(std::vector<double>{0, 1, 2, 3}, std::vector<double>{0.5, 2.5, 4.5, 6.5}, 2);
  EXPECT_EQ(flat.skewness, 0);
  EXPECT_EQ(flat.excess_kurtosis, 0);
  EXPECT_EQ(flat.ks_p, 1);
}

TEST(ResidualNormality, TellsNormalFromUniform) {
  NumpyGenerator generator(2);
  constexpr std::size_t n = 2000;
  const std::vector<double> position(n, 0.0);
  const Normality normal = residual_normality(position, random_normals(n, generator), 0);
  EXPECT_GT(normal.ks_p, 0.01);
  EXPECT_NEAR(normal.excess_kurtosis, 0, 5 * std::sqrt(24.0 / n));
  std::vector<double> uniform(n);
  for (double& value : uniform) value = generator.random();
  const Normality flat = residual_normality(position, uniform, 0);
  EXPECT_LT(flat.ks_p, 1e-6);
  EXPECT_NEAR(flat.excess_kurtosis, -1.2, 0.1);
}

TEST(NoiseNormality, LeavesOutFirstComponentAndRejectsAtLevelForNormals) {
  NumpyGenerator generator(3);
  Queries x(500, 41, generator);
  for (std::size_t i = 0; i < 500; ++i) x.row(i)[0] = i == 0 ? 1e6F : 0;  // would dominate every median
  const NoiseNormality noise = noise_normality(x, 64, 0.01, 0);
  EXPECT_LT(noise.median_abs_skewness, 0.3);
  EXPECT_LT(noise.median_abs_excess_kurtosis, 0.5);
  EXPECT_LE(noise.share_below_alpha, 0.1);
  EXPECT_GT(noise.median_ks_p, 0.1);
}

TEST(NoiseNormality, OfTwoComponentsIsThatOfTheSecond) {
  NumpyGenerator generator(8);
  Queries x(50, 2, generator);
  const NoiseNormality before = noise_normality(x, 64, 0.01, 0);
  for (std::size_t i = 0; i < 50; ++i) x.row(i)[0] = i == 0 ? 1e6F : 0;
  const NoiseNormality after = noise_normality(x, 64, 0.01, 0);
  EXPECT_EQ(before.median_abs_skewness, after.median_abs_skewness);
  EXPECT_EQ(before.median_ks_p, after.median_ks_p);
  x.row(0)[1] += 100;
  EXPECT_GT(noise_normality(x, 64, 0.01, 0).median_abs_skewness, 5);
}

TEST(NoiseNormality, CountsComponentsWithoutSpreadAsNormal) {
  const NoiseNormality noise = noise_normality(Queries(10, 4), 64, 0.01, 0);
  EXPECT_EQ(noise.median_abs_skewness, 0);
  EXPECT_EQ(noise.median_ks_p, 1);
  EXPECT_EQ(noise.share_below_alpha, 0);
}

TEST(NoiseNormality, IsNeutralForFewRowsAndOneComponentAndUntestedForNoDims) {
  NumpyGenerator generator(4);
  EXPECT_EQ(noise_normality(Queries(2, 5, generator), 64, 0.01, 0).median_ks_p, 1);
  EXPECT_EQ(noise_normality(Queries(20, 1, generator), 64, 0.01, 0).share_below_alpha, 0);
  const NoiseNormality untested = noise_normality(Queries(20, 5, generator), 0, 0.01, 0);
  EXPECT_TRUE(std::isnan(untested.median_ks_p));
  EXPECT_TRUE(std::isnan(untested.share_below_alpha));
  EXPECT_GT(untested.median_abs_skewness, 0);
}

TEST(ReflectedComponents, HaveTheSquaresOfEveryComponent) {
  NumpyGenerator generator(9);
  const Queries x(40, 3, generator);
  const LineSums sums = sum_rows(std::vector<double>(40), x.values, 3);
  const std::vector<double> mean{sums.mean[0], -sums.mean[1], sums.mean[2]};
  const std::vector<bool> tested{false, true, true};
  const ReflectedRows rows(x.values, std::vector<double>{1, -1, 1}, Householder(std::vector<double>(3)), mean, tested);
  const ReflectedComponents components = reflected_components(rows, tested, 0.01, energy_of(x));
  ASSERT_EQ(components.squares.size(), 3U);
  for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(components.squares[c], sums.xx[c], 1e-12 * sums.xx[c]);
}

TEST(ReflectedComponents, OfQueriesOnOneLineHaveNoSpreadAcrossIt) {
  NumpyGenerator generator(3);
  for (const std::size_t width : {2U, 16U, 128U}) {
    std::vector<double> direction(width);
    for (double& c : direction) c = std::round(64 * random_normal(generator));
    Queries x(500, width);
    std::vector<double> position(500);
    for (std::size_t i = 0; i < 500; ++i) {
      // Whole multiples of a vector of whole numbers: exactly on one line in single precision too.
      const double along = std::round(100 * random_normal(generator));
      position[i] = static_cast<double>(i);
      for (std::size_t c = 0; c < width; ++c) x.row(i)[c] = static_cast<float>(along * direction[c]);
    }
    const LineSums sums = sum_rows(position, x.values, width);
    const Householder reflection(fit_lines(sums).slope);
    std::vector<double> mean = sums.mean;
    reflection.apply(mean);
    const std::vector<bool> tested = tested_components(500, width, 64, 0);
    const ReflectedRows rows(x.values, std::vector<double>(width, 1.0), reflection, mean, tested);
    const ReflectedComponents components = reflected_components(rows, tested, 0.01, energy_of(x));
    EXPECT_GT(components.squares[0], 0);
    for (std::size_t c = 1; c < width; ++c) EXPECT_EQ(components.squares[c], 0) << width << ", " << c;
    EXPECT_EQ(components.noise.median_abs_skewness, 0);
    EXPECT_EQ(components.noise.median_ks_p, 1);
    EXPECT_EQ(components.noise.share_below_alpha, 0);
  }
}

// A component that is tiny beside the others is not rounding.
TEST(ReflectedComponents, KeepSmallSpread) {
  NumpyGenerator generator(4);
  Queries x(500, 3, generator);
  std::vector<double> position(500);
  for (std::size_t i = 0; i < 500; ++i) {
    position[i] = static_cast<double>(i);
    x.row(i)[0] += 0.01F * static_cast<float>(i);
    x.row(i)[2] *= 1e-12F;
  }
  const LineSums sums = sum_rows(position, x.values, 3);
  const Householder reflection(fit_lines(sums).slope);
  std::vector<double> mean = sums.mean;
  reflection.apply(mean);
  const std::vector<bool> tested{false, true, true};
  const ReflectedRows rows(x.values, std::vector<double>(3, 1.0), reflection, mean, tested);
  const ReflectedComponents components = reflected_components(rows, tested, 0.01, energy_of(x));
  EXPECT_GT(components.squares[2], 0);
}

TEST(ScalarPredictability, IsThatOfExactLogarithmsForPositionsFarFromZero) {
  NumpyGenerator generator(5);
  for (const double start : {0.0, 1e3, 1099511627776.0, 4503599627370496.0}) {
    std::vector<double> position(600);
    std::vector<double> s(600);
    std::vector<long double> y(600);
    for (std::size_t i = 0; i < 600; ++i) {
      position[i] = start + std::floor(256 * generator.random());
      s[i] = 0.02 * (position[i] - start) + random_normal(generator);
      y[i] = std::log1p((static_cast<long double>(position[i]) - start) / (1 + static_cast<long double>(start)));
    }
    long double mean_s = 0, mean_y = 0, ss = 0, yy = 0, sy = 0;
    for (std::size_t i = 0; i < 600; ++i) mean_s += s[i] / 600.0L, mean_y += y[i] / 600;
    for (std::size_t i = 0; i < 600; ++i) {
      ss += (s[i] - mean_s) * (s[i] - mean_s);
      yy += (y[i] - mean_y) * (y[i] - mean_y);
      sy += (s[i] - mean_s) * (y[i] - mean_y);
    }
    const ScalarPredictability result = scalar_predictability(position, s);
    EXPECT_NEAR(result.r_squared, static_cast<double>(sy * sy / (ss * yy)), 1e-11) << start;
  }
}

TEST(ResidualNormality, DoesNotDependOnWhereTheTextBegins) {
  NumpyGenerator generator(6);
  std::vector<double> position(600), far(600), x(600);
  for (std::size_t i = 0; i < 600; ++i) {
    position[i] = static_cast<double>(i % 256);
    far[i] = position[i] + 1099511627776.0;
    x[i] = 0.5 * position[i] + random_normal(generator);
  }
  const Normality near = residual_normality(position, x, 0.5);
  const Normality moved = residual_normality(far, x, 0.5, 1099511627776.0);
  EXPECT_NEAR(near.skewness, moved.skewness, 1e-12);
  EXPECT_NEAR(near.ks_p, moved.ks_p, 1e-12);
}

TEST(ResidualNormality, OfPointsOnALineIsThatOfNoSpread) {
  std::vector<double> position(100), x(100);
  for (std::size_t i = 0; i < 100; ++i) {
    position[i] = static_cast<double>(i);
    x[i] = 0.1 * position[i];
  }
  EXPECT_EQ(residual_normality(position, x, 0.1 + 1e-17).ks_p, 1);
  const Normality rounded = residual_normality(position, x, 0.1 * (1 + 2e-16));
  EXPECT_EQ(rounded.skewness, 0);
  EXPECT_EQ(rounded.ks_p, 1);
}

TEST(ComponentWeights, AreSharesOfPositiveFit) {
  EXPECT_EQ(component_weights(std::vector<double>{0.25, -0.5, 0.75}), (std::vector<double>{0.25, 0, 0.75}));
  EXPECT_EQ(component_weights(std::vector<double>{-0.1, 0, 0, 0}), (std::vector<double>(4, 0.25)));
}

}  // namespace
}  // namespace attention_plasticity

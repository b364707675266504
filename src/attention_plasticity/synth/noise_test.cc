#include "attention_plasticity/synth/noise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace attention_plasticity {
namespace {

HeadModel model_of(std::size_t dim, double spectrum) {
  SynthOptions options;
  options.dim = dim;
  options.spectrum = spectrum;
  return make_head_model(options, Side::query, {0, 0});
}

std::vector<float> draw(const Noise& noise, std::size_t size, unsigned seed) {
  NormalSource normals{NumpyGenerator(seed)};
  std::vector<float> rows(size);
  noise.draw(normals, rows);
  return rows;
}

struct Shape {
  double mean = 0;
  double variance = 0;
  double excess_kurtosis = 0;
  double beyond_three = 0;  // share
};

Shape shape_of(std::span<const float> values) {
  Shape shape;
  const auto n = static_cast<double>(values.size());
  double fourth = 0;
  for (const double x : values) {
    shape.mean += x / n;
    shape.variance += x * x / n;
    fourth += x * x * x * x / n;
    if (std::abs(x) > 3) shape.beyond_three += 1 / n;
  }
  shape.excess_kurtosis = fourth / (shape.variance * shape.variance) - 3;
  return shape;
}

TEST(NormalSource, HasTheMomentsAndTailsOfANormal) {
  constexpr double n = 1e6;
  std::vector<float> values(static_cast<std::size_t>(n));
  NormalSource{NumpyGenerator(5)}.fill(values);
  const Shape shape = shape_of(values);
  EXPECT_NEAR(shape.mean, 0, 4 / std::sqrt(n));
  EXPECT_NEAR(shape.variance, 1, 4 * std::sqrt(2 / n));
  EXPECT_NEAR(shape.excess_kurtosis, 0, 4 * std::sqrt(24 / n));
  const double beyond = std::erfc(3 / std::numbers::sqrt2);
  EXPECT_NEAR(shape.beyond_three, beyond, 4 * std::sqrt(beyond / n));
}

TEST(NormalSource, NeighboursAreIndependent) {
  constexpr std::size_t n = 400000;
  std::vector<float> values(n + 1);
  NormalSource{NumpyGenerator(6)}.fill(values);
  double product = 0;
  double of_squares = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double x = values[i];
    const double y = values[i + 1];
    product += x * y;
    of_squares += (x * x - 1) * (y * y - 1);
  }
  EXPECT_LT(std::abs(product) / std::sqrt(n), 4);
  EXPECT_LT(std::abs(of_squares) / std::sqrt(4.0 * n), 4);
}

// Compares tiles with the plain sum, for widths around that of a tile and numbers of rows around that of a block.
TEST(Noise, IsTheRootOfTheCovarianceTimesNormals) {
  for (const std::size_t dim : {1U, 3U, 7U, 8U, 9U, 16U, 21U}) {
    const HeadModel model = model_of(dim, 1.3);
    for (const std::size_t rows : {1U, 3U, 4U, 5U, 63U, 64U, 66U, 130U}) {
      const auto noise = draw(Noise(model, Tails::normal), rows * dim, 9);
      const auto normals = draw(Noise(model_of(dim, 0), Tails::normal), rows * dim, 9);
      double worst = 0;
      for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t c = 0; c < dim; ++c) {
          double sum = 0;
          for (std::size_t i = 0; i < dim; ++i) {
            sum += normals[r * dim + i] * std::sqrt(model.eigenvalues[i]) * model.axes.row(i)[c];
          }
          worst = std::max(worst, std::abs(sum - noise[r * dim + c]));
        }
      }
      EXPECT_LT(worst, 2e-6) << rows << " rows of " << dim;
    }
  }
}

TEST(Noise, HasTheCovarianceOfItsModel) {
  constexpr std::size_t dim = 11;
  constexpr std::size_t n = 100000;
  const HeadModel model = model_of(dim, 1);
  const Matrix covariance = noise_covariance(model);
  const auto rows = draw(Noise(model, Tails::normal), n * dim, 1);
  double worst = 0;
  for (std::size_t a = 0; a < dim; ++a) {
    for (std::size_t b = 0; b <= a; ++b) {
      double sum = 0;
      for (std::size_t r = 0; r < n; ++r) sum += static_cast<double>(rows[r * dim + a]) * rows[r * dim + b];
      const double expected = covariance.row(a)[b];
      const double variance = covariance.row(a)[a] * covariance.row(b)[b] + expected * expected;
      worst = std::max(worst, std::abs(sum / n - expected) / std::sqrt(variance / n));
    }
  }
  EXPECT_LT(worst, 4);
}

TEST(Noise, HeavyTailsAreThoseOfStudentWithFiveDegrees) {
  constexpr std::size_t n = 1000000;
  // With one component, the tail is that of the component itself.
  const Shape shape = shape_of(draw(Noise(model_of(1, 0), Tails::heavy), n, 2));
  EXPECT_NEAR(shape.variance, 1, 4 * std::sqrt(8.0 / n));  // the fourth moment is 9
  // P(|t| > x), 5 degrees: 1 - (2 / pi) (a + sin a cos a (1 + 2/3 cos² a)), tan a = x / sqrt(5); the variance is 5/3.
  const double angle = std::atan(3 * std::sqrt(5.0 / 3.0) / std::sqrt(5.0));
  const double cosine = std::cos(angle);
  const double beyond =
      1 - 2 / std::numbers::pi * (angle + std::sin(angle) * cosine * (1 + 2.0 / 3.0 * cosine * cosine));
  EXPECT_NEAR(shape.beyond_three, beyond, 4 * std::sqrt(beyond / n));
  // The kurtosis of a sample has no finite variance, and is mostly below 6.
  EXPECT_GT(shape.excess_kurtosis, 4.5);
  EXPECT_LT(shape.excess_kurtosis, 9);
}

TEST(Noise, HeavyTailsStretchWholeRows) {
  constexpr std::size_t dim = 64;
  constexpr std::size_t n = 20000;
  const auto rows = draw(Noise(model_of(dim, 0), Tails::heavy), n * dim, 3);
  // (dim - 2) / |row|² is chi² / 3 with 5 degrees of freedom: its mean is 5/3, its variance 10/9 and a little more.
  double sum = 0;
  for (std::size_t r = 0; r < n; ++r) {
    double square = 0;
    for (std::size_t c = 0; c < dim; ++c) square += static_cast<double>(rows[r * dim + c]) * rows[r * dim + c];
    sum += (dim - 2) / square;
  }
  EXPECT_NEAR(sum / n, 5.0 / 3.0, 4 * std::sqrt(1.3 / n));
}

}  // namespace
}  // namespace attention_plasticity

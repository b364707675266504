#include "attention_plasticity/plasticity/quadratic_kernel.h"

#include <gtest/gtest.h>

#include <cmath>

#include "attention_plasticity/base/highway_targets_testing.h"
#include "attention_plasticity/plasticity/random_rows_testing.h"

namespace attention_plasticity {
namespace {

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
  return sum;
}

// wᵀ S w in plain loops, of the upper triangle of S.
double square(const Matrix& s, std::span<const double> w) {
  double sum = 0;
  for (std::size_t a = 0; a < w.size(); ++a) {
    for (std::size_t b = 0; b < w.size(); ++b) sum += w[a] * s.row(std::min(a, b))[std::max(a, b)] * w[b];
  }
  return sum;
}

// Groups that keep a matrix and groups that keep rows, alternating.
void expect_plain_values(std::size_t width, std::size_t groups, std::size_t directions) {
  NumpyGenerator generator(width);
  const std::size_t stride = width + 3;
  QuadraticForms forms(width, groups);
  Matrix expected_means(groups, directions);
  Matrix expected_squares(groups, directions);
  const Matrix w = random_matrix(directions, width, generator);
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t rows = g % 3 == 2 ? g % 7 : width;
    const Matrix mean = random_matrix(1, width, generator);
    const Matrix s = random_matrix(rows, stride, generator);
    if (g % 3 == 2) {
      forms.add_rows(mean.row(0), s.data(), rows, stride);
    } else {
      forms.add(mean.row(0), s.data(), stride);
    }
    for (std::size_t i = 0; i < directions; ++i) {
      expected_means.row(g)[i] = dot(w.row(i), mean.row(0));
      double& squares = expected_squares.row(g)[i];
      if (g % 3 != 2) squares = square(s, w.row(i));
      for (std::size_t row = 0; row < rows && g % 3 == 2; ++row) {
        squares += std::pow(dot(w.row(i), s.row(row).first(width)), 2);
      }
    }
  }
  for_every_target([&](const char* target) {
    SCOPED_TRACE(testing::Message() << target << ", " << width << " components, " << directions << " directions");
    Matrix means(groups, directions);
    Matrix squares(groups, directions);
    forms.evaluate(w, means, squares);
    const double scale = static_cast<double>(width + 1);
    for (std::size_t i = 0; i < groups * directions; ++i) {
      ASSERT_NEAR(means.data()[i], expected_means.data()[i], 1e-14 * scale);
      ASSERT_NEAR(squares.data()[i], expected_squares.data()[i], 1e-14 * scale * scale);
    }
  });
}

TEST(QuadraticForms, AreThoseOfPlainLoopsForEveryWidth) {
  for (std::size_t width = 1; width <= 130; ++width) expect_plain_values(width, width % 6, 5 + width % 40);
}

TEST(QuadraticForms, AreThoseOfPlainLoopsForEveryNumberOfDirections) {
  for (std::size_t directions = 0; directions <= 70; ++directions) expect_plain_values(7, 5, directions);
}

}  // namespace
}  // namespace attention_plasticity

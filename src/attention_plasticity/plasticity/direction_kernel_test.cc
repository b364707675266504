#include "attention_plasticity/plasticity/direction_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "attention_plasticity/base/highway_targets_testing.h"
#include "attention_plasticity/plasticity/position_frame.h"
#include "attention_plasticity/plasticity/random_rows_testing.h"

namespace attention_plasticity {
namespace {

constexpr std::size_t directions = 4;

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
  return sum;
}

// Runs a check for every width and target.
template <class Check>
void for_every_width(const Check& check) {
  for (std::size_t width = 1; width <= 130; ++width) {
    NumpyGenerator generator(width);
    const Matrix w = random_matrix(directions, width, generator);
    const Matrix a = random_matrix(2, width, generator);
    for_every_target([&](const char* target) {
      SCOPED_TRACE(testing::Message() << target << ", " << width << " components");
      check(w, a.row(0), a.row(1));
    });
    if (testing::Test::HasFailure()) return;
  }
}

TEST(DirectionKernel, MultipliesVectors) {
  for_every_width([](const Matrix&, std::span<const double> a, std::span<const double> b) {
    EXPECT_NEAR(product(a, b), dot(a, b), 1e-13);
  });
}

TEST(DirectionKernel, RemovesThePartAlongAnAxis) {
  for_every_width([](const Matrix& w, std::span<const double> a, std::span<const double>) {
    std::vector<double> axis(a.begin(), a.end());
    for (double& x : axis) x /= std::sqrt(dot(a, a));
    Matrix left = w;
    std::vector<double> along(directions), across(directions);
    remove_axis(left, axis, along, across);
    for (std::size_t i = 0; i < directions; ++i) {
      EXPECT_NEAR(along[i], dot(axis, w.row(i)), 1e-13);
      EXPECT_NEAR(across[i], dot(left.row(i), left.row(i)), 1e-12);
      for (std::size_t c = 0; c < axis.size(); ++c)
        EXPECT_NEAR(left.row(i)[c], w.row(i)[c] - along[i] * axis[c], 1e-14);
    }
  });
}

TEST(DirectionKernel, AddsIndependentComponents) {
  for_every_width([](const Matrix& w, std::span<const double> m, std::span<const double> v) {
    std::vector<double> mean(directions), variance(directions);
    add_components(w, m, v, mean, variance);
    for (std::size_t i = 0; i < directions; ++i) {
      double expected = 0;
      for (std::size_t c = 0; c < v.size(); ++c) expected += v[c] * w.row(i)[c] * w.row(i)[c];
      EXPECT_NEAR(mean[i], dot(m, w.row(i)), 1e-13);
      EXPECT_NEAR(variance[i], expected, 1e-12);
    }
  });
}

TEST(PositionFrame, OrientsAndReflects) {
  for_every_width([](const Matrix& w, std::span<const double> slope, std::span<const double> b) {
    std::vector<double> sign;
    for (const double x : b) sign.push_back(x < 0 ? -1 : 1);
    const Householder reflection(slope);
    const PositionFrame frame(sign, reflection);
    Matrix reflected = w;
    frame.reflect(reflected);
    for (std::size_t i = 0; i < directions; ++i) {
      std::vector<double> expected(w.row(i).begin(), w.row(i).end());
      for (std::size_t c = 0; c < expected.size(); ++c) expected[c] *= sign[c];
      reflection.apply(expected);
      for (std::size_t c = 0; c < expected.size(); ++c) EXPECT_NEAR(reflected.row(i)[c], expected[c], 1e-13);
      EXPECT_NEAR(dot(frame.axis(), w.row(i)), expected[0], 1e-13);
    }
  });
}

TEST(PositionFrame, OfNoSlopeOnlyOrients) {
  Matrix w(1, 3);
  std::ranges::copy(std::vector<double>{1, 2, 3}, w.row(0).begin());
  PositionFrame(std::vector<double>{-1, 1, -1}, Householder(std::vector<double>{0, 0, 0})).reflect(w);
  EXPECT_TRUE(std::ranges::equal(w.row(0), std::vector<double>{-1, 2, -3}));
}

}  // namespace
}  // namespace attention_plasticity

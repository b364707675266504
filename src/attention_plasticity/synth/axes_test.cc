#include "attention_plasticity/synth/axes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "attention_plasticity/synth/streams.h"

namespace attention_plasticity {
namespace {

double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

TEST(RandomAxes, AreOrthonormal) {
  for (const std::size_t dim : {1U, 2U, 7U, 128U}) {
    NumpyGenerator generator(3);
    const Matrix axes = random_axes(dim, generator);
    double worst = 0;
    for (std::size_t i = 0; i < dim; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        worst = std::max(worst, std::abs(dot(axes.row(i), axes.row(j)) - (i == j ? 1.0 : 0.0)));
      }
    }
    EXPECT_LT(worst, 1e-14) << "dimension " << dim;
  }
}

TEST(RandomAxes, LeanNowhereInTheMean) {
  // For a uniform orthogonal matrix every entry has mean 0 and variance 1/3, the first rows as well as the last.
  constexpr int draws = 4000;
  std::array<double, 9> sum{};
  std::array<double, 9> square{};
  NumpyGenerator generator(11);
  for (int k = 0; k < draws; ++k) {
    const Matrix axes = random_axes(3, generator);
    for (std::size_t i = 0; i < 9; ++i) {
      sum[i] += axes.data()[i];
      square[i] += axes.data()[i] * axes.data()[i];
    }
  }
  for (std::size_t i = 0; i < 9; ++i) {
    EXPECT_LT(std::abs(sum[i] / std::sqrt(draws / 3.0)), 4) << "entry " << i;
    // An entry is uniform on (-1, 1): its square has variance 4/45.
    EXPECT_LT(std::abs(square[i] - draws / 3.0) / std::sqrt(draws * 4.0 / 45.0), 4) << "entry " << i;
  }
}

TEST(RandomAxes, AreThoseOfTheRecipeInNumPy) {
  // rng = default_rng([7, 0, 65537, 1]); u = rng.random((3, 3, 2))
  // g = sqrt(-2 log1p(-u[..., 0])) cos(2 pi u[..., 1]); q, r = qr(g.T); (q * sign(diag(r))).T
  NumpyGenerator generator = stream_generator(7, Side::key, {1, 1}, Stream::axes);
  const Matrix axes = random_axes(3, generator);
  constexpr std::array<double, 9> expected = {0.2971985323459392,  -0.42378866604362475, 0.8556145153656434,
                                              -0.9005764459417706, 0.1733075940783338,   0.3986559203745364,
                                              0.31723035382243764, 0.8890262337905134,   0.3301473280914849};
  for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(axes.data()[i], expected[i], 1e-14);
}

}  // namespace
}  // namespace attention_plasticity

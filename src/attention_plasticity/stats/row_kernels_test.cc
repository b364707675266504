#include "attention_plasticity/stats/row_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "attention_plasticity/base/highway_targets_testing.h"

namespace attention_plasticity {
namespace {

std::vector<float> random_floats(std::size_t n) {
  std::mt19937_64 generator(n);
  std::normal_distribution normal;
  std::vector<float> values(n);
  for (float& value : values) value = static_cast<float>(normal(generator));
  return values;
}

std::vector<double> random_doubles(std::size_t n) {
  const std::vector<float> values = random_floats(n + 1);
  return {values.begin() + 1, values.end()};
}

TileValues random_tile(std::size_t seed) {
  TileValues tile;
  const std::vector<double> values = random_doubles(tile_width + seed);
  std::copy_n(values.begin(), tile_width, tile.begin());
  return tile;
}

// The tolerance of sums of n terms of order 1.
double tolerance(std::size_t n) { return 1e-14 * static_cast<double>(n + 1); }

TEST(RowKernels, SumLinesAsPlainLoopDoes) {
  for (std::size_t rows = 0; rows <= 130; rows += rows < 20 ? 1 : 11) {
    SCOPED_TRACE(rows);
    const std::size_t stride = tile_width + rows % 5;
    const std::vector<float> values = random_floats(rows * stride + tile_width);
    const std::vector<double> t = random_doubles(rows);
    const TileValues shift = random_tile(rows);
    for_every_target([&](const char* target) {
      SCOPED_TRACE(target);
      TileLineSums sums;
      sums.x.fill(0.5);  // kernels add to sums
      add_line_sums({values.data(), stride, rows}, t.data(), shift, sums);
      for (std::size_t c = 0; c < tile_width; ++c) {
        double x = 0.5, xx = 0, tx = 0;
        for (std::size_t r = 0; r < rows; ++r) {
          const double value = static_cast<double>(values[r * stride + c]) - shift[c];
          x += value;
          xx += value * value;
          tx += value * t[r];
        }
        EXPECT_NEAR(sums.x[c], x, tolerance(rows));
        EXPECT_NEAR(sums.xx[c], xx, tolerance(rows));
        EXPECT_NEAR(sums.tx[c], tx, tolerance(rows));
      }
    });
  }
}

TEST(RowKernels, SumPowersOfReflectedRowsAndCodeThemAsPlainLoopDoes) {
  for (std::size_t rows = 0; rows <= 200; rows += rows < 20 ? 1 : 9) {
    SCOPED_TRACE(rows);
    const std::size_t stride = tile_width + rows % 5;
    const std::vector<float> values = random_floats(rows * stride + tile_width);
    const std::vector<double> reflected = random_doubles(rows);
    const TileReflection reflection{random_tile(1), random_tile(2)};
    for_every_target([&](const char* target) {
      SCOPED_TRACE(target);
      TilePowerSums sums;
      std::vector<std::uint16_t> columns(tile_width * (rows + 3), 77);
      TileCodes codes;
      for (std::size_t c = 0; c < tile_width; ++c) {
        codes.codes_per_unit[c] = c == 5 ? 1e12 : 1000.0 * static_cast<double>(c + 1);  // some codes are clamped
        if (c % 3 == 0) codes.codes_per_unit[c] *= -1;
        codes.column[c] = columns.data() + c * (rows + 3);
      }
      add_power_sums({values.data(), stride, rows}, reflected.data(), reflection, codes, sums);
      for (std::size_t c = 0; c < tile_width; ++c) {
        std::array<double, 4> power{};
        for (std::size_t r = 0; r < rows; ++r) {
          const double y =
              static_cast<double>(values[r * stride + c]) - reflection.shift[c] - reflected[r] * reflection.along[c];
          for (int k = 0; k < 4; ++k) power[static_cast<std::size_t>(k)] += std::pow(y, k + 1);
          EXPECT_NEAR(codes.column[c][r], std::clamp(y * codes.codes_per_unit[c] + 32768.0, 0.0, 65535.0), 1.001);
        }
        for (std::size_t r = rows; r < rows + 3; ++r) EXPECT_EQ(codes.column[c][r], 77);
        for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(sums.power[k][c], power[k], 100 * tolerance(rows));
      }
    });
  }
}

TEST(RowKernels, SumPowersWithoutCodes) {
  constexpr std::size_t rows = 100;
  const std::vector<float> values = random_floats(rows * tile_width);
  const std::vector<double> reflected = random_doubles(rows);
  const TileReflection reflection{random_tile(1), random_tile(2)};
  for_every_target([&](const char* target) {
    SCOPED_TRACE(target);
    TilePowerSums with_codes, without;
    std::vector<std::uint16_t> column(rows);
    TileCodes codes;
    codes.column.fill(column.data());
    add_power_sums({values.data(), tile_width, rows}, reflected.data(), reflection, codes, with_codes);
    codes = {};
    codes.wanted = false;
    add_power_sums({values.data(), tile_width, rows}, reflected.data(), reflection, codes, without);
    EXPECT_EQ(without.power, with_codes.power);
  });
}

TEST(RowKernels, ProjectRowsOfEveryWidth) {
  for (std::size_t width = 1; width <= 130; ++width) {
    const std::size_t rows = width % 11;
    SCOPED_TRACE(width);
    const std::vector<float> values = random_floats(rows * width);
    const std::vector<double> axes = random_doubles(2 * width);
    for_every_target([&](const char* target) {
      SCOPED_TRACE(target);
      std::vector<double> on_a(rows + 1, 7.0), on_b(rows + 1, 7.0);
      project_rows(values.data(), rows, width, {axes.data(), axes.data() + width, on_a.data(), on_b.data()});
      for (std::size_t r = 0; r < rows; ++r) {
        double a = 0, b = 0;
        for (std::size_t c = 0; c < width; ++c) {
          a += static_cast<double>(values[r * width + c]) * axes[c];
          b += static_cast<double>(values[r * width + c]) * axes[width + c];
        }
        EXPECT_NEAR(on_a[r], a, tolerance(width));
        EXPECT_NEAR(on_b[r], b, tolerance(width));
      }
      EXPECT_EQ(on_a[rows], 7.0);
      EXPECT_EQ(on_b[rows], 7.0);
    });
  }
}

}  // namespace
}  // namespace attention_plasticity

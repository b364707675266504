#include "attention_plasticity/plasticity/scatter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "attention_plasticity/base/highway_targets_testing.h"
#include "attention_plasticity/plasticity/random_rows_testing.h"

namespace attention_plasticity {
namespace {

// Mean and scatter by their definitions, in long double.
struct Plain {
  std::vector<double> mean;
  Matrix scatter;

  explicit Plain(const Matrix& rows) : mean(rows.cols()), scatter(rows.cols(), rows.cols()) {
    std::vector<long double> exact(rows.cols());
    for (std::size_t i = 0; i < rows.rows(); ++i) {
      for (std::size_t c = 0; c < rows.cols(); ++c) exact[c] += rows.row(i)[c] / static_cast<long double>(rows.rows());
    }
    std::ranges::transform(exact, mean.begin(), [](long double x) { return static_cast<double>(x); });
    for (std::size_t a = 0; a < rows.cols(); ++a) {
      for (std::size_t b = a; b < rows.cols(); ++b) {
        long double sum = 0;
        for (std::size_t i = 0; i < rows.rows(); ++i) {
          sum += (rows.row(i)[a] - exact[a]) * (rows.row(i)[b] - exact[b]);
        }
        scatter.row(a)[b] = static_cast<double>(sum);
      }
    }
  }
};

ScatterSum sum_of(const Matrix& rows) {
  ScatterSum sum(rows.cols());
  for (std::size_t i = 0; i < rows.rows(); ++i) std::ranges::copy(rows.row(i), sum.add().begin());
  return sum;
}

void expect_plain_values(const Matrix& rows, double tolerance) {
  const Plain plain(rows);
  for_every_target([&](const char* target) {
    SCOPED_TRACE(testing::Message() << target << ", " << rows.rows() << " x " << rows.cols());
    ScatterSum sum = sum_of(rows);
    sum.finish();
    ASSERT_EQ(sum.count(), rows.rows());
    for (std::size_t a = 0; a < rows.cols(); ++a) {
      ASSERT_NEAR(sum.mean()[a], plain.mean[a], 1e-14 * (1 + std::abs(plain.mean[a])));
      for (std::size_t b = a; b < rows.cols(); ++b) {
        const double size = std::sqrt(plain.scatter.row(a)[a] * plain.scatter.row(b)[b]);
        ASSERT_NEAR(sum.scatter()[a * sum.stride() + b], plain.scatter.row(a)[b], tolerance * size);
      }
    }
  });
}

TEST(ScatterSum, IsThatOfPlainLoopsForEveryWidth) {
  for (std::size_t width = 1; width <= 130; width += width < 40 ? 1 : 9) {
    NumpyGenerator generator(width);
    expect_plain_values(random_matrix(3 + width, width, generator), 1e-14);
  }
}

// Numbers of rows around whole blocks.
TEST(ScatterSum, IsThatOfPlainLoopsForEveryNumberOfRows) {
  for (const std::size_t rows : {1, 2, 95, 96, 97, 191, 192, 193, 500}) {
    NumpyGenerator generator(rows);
    expect_plain_values(random_matrix(rows, 5, generator), 1e-14);
  }
}

// Subtracting the products of means from a plain sum of products would leave no correct digit here.
TEST(ScatterSum, KeepsDigitsFarFromZeroAndOfSmallComponents) {
  NumpyGenerator generator(3);
  Matrix rows = random_matrix(400, 12, generator);
  for (std::size_t i = 0; i < 400; ++i) {
    const auto row = rows.row(i);
    for (std::size_t c = 0; c < 12; ++c)
      row[c] = (c % 2 == 0 ? 1e6 : 0.0) + row[c] * std::pow(10, -static_cast<int>(c % 6));
  }
  expect_plain_values(rows, 1e-13);
}

TEST(ScatterSum, OfEqualRowsIsExactlyZero) {
  Matrix rows(250, 17);
  for (std::size_t i = 0; i < 250; ++i) {
    for (std::size_t c = 0; c < 17; ++c) rows.row(i)[c] = 0.1 * static_cast<double>(c + 1);
  }
  for_every_target([&](const char*) {
    ScatterSum sum = sum_of(rows);
    sum.finish();
    for (std::size_t a = 0; a < 17; ++a) {
      EXPECT_EQ(sum.mean()[a], rows.row(0)[a]);
      for (std::size_t b = a; b < 17; ++b) EXPECT_EQ(sum.scatter()[a * sum.stride() + b], 0);
    }
  });
}

TEST(ScatterSum, StartsAnewAfterClear) {
  NumpyGenerator generator(1);
  const Matrix rows = random_matrix(200, 3, generator);
  ScatterSum sum = sum_of(rows);
  sum.finish();
  sum.clear();
  std::ranges::copy(rows.row(7), sum.add().begin());
  sum.finish();
  EXPECT_EQ(sum.count(), 1U);
  EXPECT_TRUE(std::ranges::equal(sum.mean(), rows.row(7)));
  EXPECT_EQ(sum.scatter()[0], 0);
}

TEST(ScatterSum, HandsOutFewRowsCentred) {
  NumpyGenerator generator(2);
  const Matrix rows = random_matrix(9, 4, generator);
  const Plain plain(rows);
  ScatterSum sum = sum_of(rows);
  EXPECT_EQ(sum.finish_rows(8), nullptr);
  const double* centred = sum.finish_rows(9);
  ASSERT_NE(centred, nullptr);
  for (std::size_t i = 0; i < 9; ++i) {
    for (std::size_t c = 0; c < 4; ++c) {
      EXPECT_NEAR(centred[i * sum.stride() + c], rows.row(i)[c] - plain.mean[c], 1e-15);
    }
  }
  EXPECT_EQ(sum_of(random_matrix(300, 4, generator)).finish_rows(1000), nullptr);
}

}  // namespace
}  // namespace attention_plasticity

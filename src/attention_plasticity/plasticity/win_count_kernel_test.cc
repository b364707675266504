#include "attention_plasticity/plasticity/win_count_kernel.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "attention_plasticity/base/highway_targets_testing.h"
#include "attention_plasticity/plasticity/random_rows_testing.h"

namespace attention_plasticity {
namespace {

// The definition, in double.
std::vector<double> plain_count(const Matrix& queries, const Matrix& directions) {
  std::vector<double> wins;
  for (std::size_t i = 0; i < directions.rows(); ++i) {
    double count = 0;
    for (std::size_t q = 0; q < queries.rows(); ++q) {
      double sum = 0;
      for (std::size_t c = 0; c < queries.cols(); ++c) sum += queries.row(q)[c] * directions.row(i)[c];
      count += sum > 0 ? 1.0 : sum == 0 ? 0.5 : 0.0;
    }
    wins.push_back(count);
  }
  return wins;
}

void expect_plain_count(const Matrix& queries, const Matrix& directions) {
  const std::vector<double> expected = plain_count(queries, directions);
  for_every_target([&](const char* target) {
    EXPECT_EQ(WinCounter(queries).count(directions), expected)
        << target << ", " << queries.rows() << " queries, " << directions.rows() << " directions, " << queries.cols()
        << " components";
  });
}

TEST(WinCounter, CountsAsPlainLoopsDoForEveryWidth) {
  for (std::size_t width = 1; width <= 130; ++width) {
    NumpyGenerator generator(width);
    const Matrix queries = random_matrix(3 + width % 5, width, generator);
    expect_plain_count(queries, random_matrix(1 + width % 70, width, generator));
  }
}

// Small whole numbers: many products are exactly 0, and the others are close to the bound.
RC_GTEST_PROP(WinCounter, CountsTiesAsHalf, ()) {
  const auto width = *rc::gen::inRange<std::size_t>(1, 5);
  const auto whole_numbers = [&](std::size_t rows) {
    Matrix matrix(rows, width);
    for (std::size_t i = 0; i < rows * width; ++i) matrix.data()[i] = *rc::gen::inRange(-2, 3);
    return matrix;
  };
  const Matrix queries = whole_numbers(*rc::gen::inRange<std::size_t>(0, 12));
  const Matrix directions = whole_numbers(*rc::gen::inRange<std::size_t>(0, 80));
  const std::vector<double> expected = plain_count(queries, directions);
  for_every_target([&](const char* target) {
    RC_LOG() << target;
    RC_ASSERT(WinCounter(queries).count(directions) == expected);
  });
}

// Products far below what single precision can tell from 0, of either sign.
TEST(WinCounter, SettlesNearTiesInDouble) {
  NumpyGenerator generator(9);
  Matrix queries = random_matrix(50, 64, generator);
  const Matrix directions = random_matrix(40, 64, generator);
  for (std::size_t q = 0; q < 50; ++q) {
    const auto w = directions.row(q % 40);
    double along = 0, squares = 0;
    for (std::size_t c = 0; c < 64; ++c) along += queries.row(q)[c] * w[c];
    for (std::size_t c = 0; c < 64; ++c) squares += w[c] * w[c];
    const double keep = (q % 3 == 0 ? 1e-9 : -1e-9);
    for (std::size_t c = 0; c < 64; ++c) queries.row(q)[c] += (keep - along / squares) * w[c];
  }
  expect_plain_count(queries, directions);
}

TEST(WinCounter, TakesAnyScale) {
  NumpyGenerator generator(10);
  Matrix queries = random_matrix(20, 3, generator);
  Matrix directions = random_matrix(20, 3, generator);
  for (std::size_t i = 0; i < 60; ++i) {
    queries.data()[i] *= i % 2 == 0 ? 1e-60 : 1e60;
    directions.data()[i] *= i % 4 < 2 ? 1e-60 : 1e60;
  }
  expect_plain_count(queries, directions);
}

TEST(WinCounter, TakesNothing) {
  NumpyGenerator generator(11);
  expect_plain_count(Matrix(0, 3), random_matrix(5, 3, generator));
  expect_plain_count(Matrix(4, 3), random_matrix(5, 3, generator));
  expect_plain_count(random_matrix(5, 3, generator), Matrix(4, 3));
  expect_plain_count(random_matrix(5, 3, generator), Matrix(0, 3));
}

}  // namespace
}  // namespace attention_plasticity

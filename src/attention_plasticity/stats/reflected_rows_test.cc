#include "attention_plasticity/stats/reflected_rows.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "attention_plasticity/base/highway_targets_testing.h"
#include "attention_plasticity/stats/kolmogorov_bins.h"
#include "attention_plasticity/stats/line_fit.h"
#include "attention_plasticity/stats/shape_testing.h"

namespace attention_plasticity {
namespace {

struct Rows {
  std::size_t width;
  std::vector<float> values;
  std::vector<double> sign;
  std::vector<double> slope;

  std::size_t size() const { return values.size() / width; }
};

Rows random_rows(std::size_t n, std::size_t width) {
  std::mt19937_64 generator(n * 1000 + width);
  std::normal_distribution normal;
  Rows rows{width, std::vector<float>(n * width), {}, {}};
  for (float& value : rows.values) value = static_cast<float>(3.0 + normal(generator));
  for (std::size_t c = 0; c < width; ++c) {
    rows.sign.push_back(c % 3 == 1 ? -1.0 : 1.0);
    rows.slope.push_back(normal(generator));
  }
  return rows;
}

// In plain loops, row by row.
Matrix plainly_reflected(const Rows& rows) {
  const Householder reflection(rows.slope);
  Matrix x(rows.size(), rows.width);
  for (std::size_t i = 0; i < x.rows(); ++i) {
    for (std::size_t c = 0; c < rows.width; ++c) {
      x.row(i)[c] = static_cast<double>(rows.values[i * rows.width + c]) * rows.sign[c];
    }
    reflection.apply(x.row(i));
  }
  return x;
}

std::vector<double> column_of(const Matrix& x, std::size_t c) {
  std::vector<double> column(x.rows());
  for (std::size_t i = 0; i < x.rows(); ++i) column[i] = x.row(i)[c];
  return column;
}

std::vector<double> means_of(const Matrix& x) {
  std::vector<double> mean(x.cols());
  for (std::size_t c = 0; c < x.cols(); ++c) {
    for (const double value : column_of(x, c)) mean[c] += value / static_cast<double>(x.rows());
  }
  return mean;
}

void check_against_plain(const Rows& rows) {
  const Matrix expected = plainly_reflected(rows);
  const std::vector<double> mean = means_of(expected);
  std::vector<bool> coded(rows.width);
  for (std::size_t c = 0; c < rows.width; ++c) coded[c] = c % 3 != 0 && c < 100;
  for_every_target([&](const char* target) {
    SCOPED_TRACE(target);
    const ReflectedRows reflected(rows.values, rows.sign, Householder(rows.slope), mean, coded);
    const std::vector<double> first = reflected.first_component();
    ASSERT_EQ(reflected.size(), expected.rows());
    for (std::size_t i = 0; i < expected.rows(); ++i) {
      EXPECT_NEAR(first[i], expected.row(i)[0], 1e-12);
      for (std::size_t c = 0; c < expected.cols(); ++c) {
        EXPECT_NEAR(reflected.value(i, c), expected.row(i)[c], 1e-12);
      }
    }
    const ReflectedColumns& columns = reflected.columns();
    ASSERT_EQ(columns.sums.size(), rows.width);
    for (std::size_t c = 0; c < rows.width; ++c) {
      const std::vector<double> values = column_of(expected, c);
      const Shape shape = shape_of(columns.sums[c]);
      const Shape expected_shape = sample_shape(values);
      EXPECT_NEAR(shape.skewness, expected_shape.skewness, 1e-10);
      EXPECT_NEAR(shape.excess_kurtosis, expected_shape.excess_kurtosis, 1e-10);
      if (!coded[c]) continue;
      ASSERT_EQ(columns.codes(c).size(), values.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double scale = columns.codes_per_unit[c];
        EXPECT_NEAR(columns.codes(c)[i], code_of(values[i] - mean[c], scale), 1 + 1e-13 * scale);
      }
    }
  });
}

TEST(ReflectedRows, AreThoseOfTheReflectionForEveryWidth) {
  for (std::size_t width = 1; width <= 130; ++width) {
    SCOPED_TRACE(width);
    check_against_plain(random_rows(11 + width % 4, width));
  }
}

TEST(ReflectedRows, AreThoseOfTheReflectionForManyRows) {
  for (const std::size_t n : {1U, 2U, 127U, 128U, 129U, 1000U}) {
    SCOPED_TRACE(n);
    check_against_plain(random_rows(n, 19));
  }
}

TEST(ReflectedRows, WithoutSlopeAreOrientedOnly) {
  Rows rows = random_rows(50, 7);
  rows.slope.assign(7, 0.0);
  const std::vector<double> mean(7);
  const std::vector<bool> none(7);
  const ReflectedRows reflected(rows.values, rows.sign, Householder(rows.slope), mean, none);
  EXPECT_TRUE(reflected.along_slope().empty());
  check_against_plain(rows);
  // Too short for a reflection, but it has a direction.
  rows.slope[2] = 1e-13;
  check_against_plain(rows);
  const ReflectedRows short_slope(rows.values, rows.sign, Householder(rows.slope), mean, none);
  EXPECT_EQ(short_slope.along_slope()[1], static_cast<double>(rows.values[7 + 2]) * rows.sign[2]);
}

TEST(ReflectedRows, KeepAConstantComponentExactlyConstant) {
  Rows rows = random_rows(1000, 5);
  std::vector<double> t(1000);
  for (std::size_t i = 0; i < 1000; ++i) {
    t[i] = static_cast<double>(i);
    rows.values[i * 5 + 3] = 0.1F;
  }
  for_every_target([&](const char* target) {
    SCOPED_TRACE(target);
    LineSums sums = sum_rows(t, rows.values, 5);
    EXPECT_EQ(sums.xx[3], 0.0);
    for (std::size_t c = 0; c < 5; ++c) sums.mean[c] *= rows.sign[c];
    const Householder reflection(fit_lines(sums).slope);
    reflection.apply(sums.mean);
    const ReflectedRows reflected(rows.values, rows.sign, reflection, sums.mean, std::vector<bool>(5, true));
    for (std::size_t c = 0; c < 5; ++c) EXPECT_EQ(reflected.columns().sums[c].squares() == 0.0, c == 3) << c;
  });
}

RC_GTEST_PROP(ReflectedRows, SumAsLineMomentsDo, ()) {
  const std::size_t width = *rc::gen::inRange<std::size_t>(1, 40);
  const std::size_t n = *rc::gen::inRange<std::size_t>(1, 300);
  const float offset = static_cast<float>(*rc::gen::element(0, 10, 1000));
  Rows rows = random_rows(n, width);
  LineMoments plain(width);
  std::vector<double> t;
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> row;
    for (std::size_t c = 0; c < width; ++c) row.push_back(static_cast<double>(rows.values[i * width + c] += offset));
    t.push_back(*rc::gen::inRange(0, 1000));
    plain.add(t.back(), row);
  }
  for_every_target([&](const char* target) {
    SCOPED_TRACE(target);
    const LineFit fit = fit_lines(sum_rows(t, rows.values, width));
    const LineFit expected = plain.finish();
    for (std::size_t c = 0; c < width; ++c) {
      RC_ASSERT(std::abs(fit.slope[c] - expected.slope[c]) <= 1e-12 * (1 + std::abs(expected.slope[c])));
      RC_ASSERT(std::abs(fit.intercept[c] - expected.intercept[c]) <= 1e-12 * (1 + std::abs(expected.intercept[c])));
      RC_ASSERT(std::abs(fit.r_squared[c] - expected.r_squared[c]) <= 1e-10);
      RC_ASSERT(std::abs(fit.residual_variance[c] - expected.residual_variance[c]) <= 1e-10);
    }
  });
}

}  // namespace
}  // namespace attention_plasticity

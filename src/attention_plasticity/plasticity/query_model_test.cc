#include "attention_plasticity/plasticity/query_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "attention_plasticity/plasticity/random_rows_testing.h"

namespace attention_plasticity {
namespace {

struct Line {
  double intercept, slope, variance;
};

// One component on position, by the textbook formulas.
Line naive_line(const Matrix& x, const std::vector<double>& t, const std::vector<std::size_t>& rows, std::size_t c) {
  const auto n = static_cast<double>(rows.size());
  double mean_t = 0, mean_x = 0, tt = 0, tx = 0, residual = 0;
  for (const std::size_t i : rows) {
    mean_t += t[i] / n;
    mean_x += x.row(i)[c] / n;
  }
  for (const std::size_t i : rows) {
    tt += (t[i] - mean_t) * (t[i] - mean_t);
    tx += (t[i] - mean_t) * (x.row(i)[c] - mean_x);
  }
  const double slope = tx / tt;
  for (const std::size_t i : rows) residual += std::pow(x.row(i)[c] - mean_x - slope * (t[i] - mean_t), 2);
  return {mean_x - slope * mean_t, slope, residual / (n - 1)};
}

double covariance(const Matrix& x, const std::vector<std::size_t>& rows, std::size_t a, std::size_t b) {
  const auto n = static_cast<double>(rows.size());
  double mean_a = 0, mean_b = 0, sum = 0;
  for (const std::size_t i : rows) mean_a += x.row(i)[a] / n;
  for (const std::size_t i : rows) mean_b += x.row(i)[b] / n;
  for (const std::size_t i : rows) sum += (x.row(i)[a] - mean_a) * (x.row(i)[b] - mean_b);
  return sum / (n - 1);
}

double mean_of(const Matrix& x, const std::vector<std::size_t>& rows, std::size_t c) {
  double mean = 0;
  for (const std::size_t i : rows) mean += x.row(i)[c] / static_cast<double>(rows.size());
  return mean;
}

double phi(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

// 4 p (1 - p) of one pair, with mu and Sigma written out as the methods define them.
double naive_plasticity(Method method, const Matrix& x, const std::vector<double>& t,
                        const std::vector<std::size_t>& head, const std::vector<std::size_t>& bucket, const Matrix& w,
                        std::size_t pair) {
  const std::size_t d = x.cols();
  double tau = 0;
  for (const std::size_t i : bucket) tau += t[i] / static_cast<double>(bucket.size());
  double m = 0, v = 0;
  for (std::size_t a = 0; a < d; ++a) {
    const Line line = naive_line(x, t, head, a);
    const bool on_line = method == Method::diagonal || (method == Method::positional && a == 0);
    m += w.row(pair)[a] * (on_line ? line.intercept + line.slope * tau : mean_of(x, bucket, a));
    for (std::size_t b = 0; b < d; ++b) {
      double sigma = covariance(x, bucket, a, b);
      if (method == Method::positional && a == b) sigma += 1e-12;
      if (method == Method::positional && (a == 0 || b == 0)) sigma = a == b ? line.variance : 0;
      if (method == Method::diagonal) sigma = a == b ? line.variance : 0;
      v += w.row(pair)[a] * sigma * w.row(pair)[b];
    }
  }
  const double z = m / std::sqrt(v);
  return 4 * phi(z) * phi(-z);
}

QueryRow rows_of(const Matrix& x) {
  return [&x](std::size_t row, std::span<double> out) { std::ranges::copy(x.row(row), out.begin()); };
}

LineFit lines_of(const Matrix& x, const std::vector<double>& t) {
  LineMoments moments(x.cols());
  for (std::size_t i = 0; i < x.rows(); ++i) moments.add(t[i], x.row(i));
  return moments.finish();
}

// For vectors that are in the space of the model already.
std::vector<double> plasticity_of(Method method, const Matrix& x, const std::vector<double>& t, const GroupedRows& rows,
                                  Matrix w) {
  const PositionFrame frame(x.cols());
  const GroupedLines lines(method, lines_of(x, t), frame, rows, t, rows_of(x));
  return QueryModel(method, frame, lines, rows, t, rows_of(x)).pairs(w).plasticity();
}

class QueryModelMethods : public testing::TestWithParam<Method> {};

TEST_P(QueryModelMethods, AgreeWithDefinitionWithoutAnyGroup) {
  constexpr std::size_t rows = 60, d = 5;
  NumpyGenerator generator(3);
  Matrix x = random_matrix(rows, d, generator);
  std::vector<double> t;
  GroupedRows head(3), bucket(3);
  for (std::size_t i = 0; i < rows; ++i) {
    t.push_back(100 * generator.random());
    x.row(i)[0] += 0.02 * t.back();
    const std::size_t group = generator.integers(3);
    head[group].push_back(i);
    if (i % 2 == 0) bucket[group].push_back(i);
  }
  const Matrix w = random_matrix(4, d, generator);
  const PositionFrame frame(d);
  const GroupedLines lines(GetParam(), lines_of(x, t), frame, head, t, rows_of(x));
  const QueryModel model(GetParam(), frame, lines, bucket, t, rows_of(x));
  Matrix differences = w;
  const QueryModel::Pairs pairs = model.pairs(differences);
  for (const LeftOut left_out : {LeftOut(), LeftOut(0), LeftOut(2)}) {
    std::vector<std::size_t> head_rows, bucket_rows;
    for (std::size_t g = 0; g < 3; ++g) {
      if (left_out == g) continue;
      head_rows.insert(head_rows.end(), head[g].begin(), head[g].end());
      bucket_rows.insert(bucket_rows.end(), bucket[g].begin(), bucket[g].end());
    }
    const std::vector<double> values = pairs.plasticity(left_out);
    for (std::size_t pair = 0; pair < w.rows(); ++pair) {
      EXPECT_NEAR(values[pair], naive_plasticity(GetParam(), x, t, head_rows, bucket_rows, w, pair), 1e-11);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, QueryModelMethods, testing::Values(Method::positional, Method::full, Method::diagonal));

// Equal keys have no difference.
TEST(QueryModel, TreatsEqualKeysAsTheMethodSays) {
  NumpyGenerator generator(4);
  const Matrix x = random_matrix(10, 2, generator);
  const std::vector<double> t{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const GroupedRows rows{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}};
  const Matrix zero(1, 2);
  EXPECT_EQ(plasticity_of(Method::positional, x, t, rows, zero)[0], 1);
  EXPECT_EQ(plasticity_of(Method::full, x, t, rows, zero)[0], 1);
  EXPECT_TRUE(std::isnan(plasticity_of(Method::diagonal, x, t, rows, zero)[0]));
}

// Queries without spread across the slope: only the ridge 1e-12 I remains there.
TEST(QueryModel, RidgeKeepsPositionalVarianceAboveZero) {
  const std::vector<double> t{0, 1, 2, 3};
  Matrix x(4, 2);
  for (std::size_t i = 0; i < 4; ++i) x.row(i)[1] = 0.5e-6;
  const GroupedRows rows{{0, 1, 2, 3}};
  Matrix w(1, 2);
  w.row(0)[1] = 3;
  const double z = 0.5;  // 3 * 0.5e-6 / sqrt(1e-12 * 9)
  EXPECT_NEAR(plasticity_of(Method::positional, x, t, rows, w)[0], 4 * phi(z) * phi(-z), 1e-12);
}

TEST(QueryModel, OfOneComponentIsItsLine) {
  const std::vector<double> t{0, 1, 2, 3};
  Matrix x(4, 1);
  for (std::size_t i = 0; i < 4; ++i) x.row(i)[0] = 1 + t[i] + (i % 2 == 0 ? 0.5 : -0.5);
  const GroupedRows rows{{0, 1, 2, 3}};
  Matrix w(1, 1);
  w.row(0)[0] = 1;
  const Line line = naive_line(x, t, rows[0], 0);
  const double z = (line.intercept + 1.5 * line.slope) / std::sqrt(line.variance);
  EXPECT_NEAR(plasticity_of(Method::positional, x, t, rows, w)[0], 4 * phi(z) * phi(-z), 1e-14);
}

}  // namespace
}  // namespace attention_plasticity

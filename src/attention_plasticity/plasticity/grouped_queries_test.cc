#include "attention_plasticity/plasticity/grouped_queries.h"

#include <gtest/gtest.h>

#include <span>

#include <algorithm>
#include <cmath>

#include "attention_plasticity/plasticity/random_rows_testing.h"

namespace attention_plasticity {
namespace {

// The definition: project every query, then take mean and variance.
ProjectedMoments naive(const Matrix& vectors, std::span<const std::size_t> rows, const Matrix& directions) {
  ProjectedMoments moments;
  for (std::size_t p = 0; p < directions.rows(); ++p) {
    std::vector<double> y;
    for (const std::size_t row : rows) {
      double dot = 0;
      for (std::size_t c = 0; c < vectors.cols(); ++c) dot += vectors.row(row)[c] * directions.row(p)[c];
      y.push_back(dot);
    }
    const auto n = static_cast<double>(y.size());
    double mean = 0, squares = 0;
    for (const double value : y) mean += value / n;
    for (const double value : y) squares += (value - mean) * (value - mean);
    moments.mean.push_back(mean);
    moments.variance.push_back(n > 1 ? squares / (n - 1) : 0);
  }
  return moments;
}

GroupedScatter scatter_of(const Matrix& vectors, const GroupedRows& rows) {
  return {vectors.cols(), rows,
          [&](std::size_t row, std::span<double> out) { std::ranges::copy(vectors.row(row), out.begin()); }};
}

GroupedRows round_robin(std::size_t rows, std::size_t groups) {
  GroupedRows result(groups);
  for (std::size_t i = 0; i < rows; ++i) result[i % groups].push_back(i);
  return result;
}

std::vector<std::size_t> all_but(const GroupedRows& groups, LeftOut left_out) {
  std::vector<std::size_t> rows;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (left_out != g) rows.insert(rows.end(), groups[g].begin(), groups[g].end());
  }
  return rows;
}

// Groups without rows, with one row, with fewer rows than components, and with more than a block of rows.
class GroupedScatterSizes : public testing::TestWithParam<std::size_t> {};

TEST_P(GroupedScatterSizes, AgreeWithNaiveMomentsWithoutAnyGroup) {
  constexpr std::size_t components = 6;
  NumpyGenerator generator(GetParam());
  const Matrix vectors = random_matrix(GetParam(), components, generator);
  const Matrix directions = random_matrix(9, components, generator);
  const GroupedRows groups = round_robin(GetParam(), 4);
  const auto projection = scatter_of(vectors, groups).project(directions);
  for (const LeftOut left_out : {LeftOut(), LeftOut(0), LeftOut(1), LeftOut(3)}) {
    const ProjectedMoments fast = projection.moments(left_out);
    const ProjectedMoments slow = naive(vectors, all_but(groups, left_out), directions);
    for (std::size_t p = 0; p < directions.rows(); ++p) {
      EXPECT_NEAR(fast.mean[p], slow.mean[p], 1e-12);
      EXPECT_NEAR(fast.variance[p], slow.variance[p], 1e-12 * (1 + slow.variance[p]));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, GroupedScatterSizes, testing::Values(2, 5, 8, 23, 24, 25, 100, 383, 384, 385, 800));

TEST(GroupedScatter, OfEqualQueriesIsExactlyZero) {
  Matrix vectors(40, 3);
  for (std::size_t i = 0; i < 40; ++i) {
    for (std::size_t c = 0; c < 3; ++c) vectors.row(i)[c] = 0.1 * static_cast<double>(c + 1);
  }
  NumpyGenerator generator(1);
  const auto projection = scatter_of(vectors, round_robin(40, 3)).project(random_matrix(5, 3, generator));
  for (const LeftOut left_out : {LeftOut(), LeftOut(2)}) {
    for (const double variance : projection.moments(left_out).variance) EXPECT_EQ(variance, 0);
  }
}

TEST(GroupedScatter, TakesGroupsWithoutRows) {
  NumpyGenerator generator(2);
  const Matrix vectors = random_matrix(5, 2, generator);
  const Matrix directions = random_matrix(3, 2, generator);
  const GroupedRows groups{{}, {0, 1, 2, 3, 4}, {}};
  const ProjectedMoments fast = scatter_of(vectors, groups).project(directions).moments(LeftOut(0));
  const ProjectedMoments slow = naive(vectors, groups[1], directions);
  for (std::size_t p = 0; p < 3; ++p) EXPECT_NEAR(fast.variance[p], slow.variance[p], 1e-12);
}

TEST(GroupedPositions, CountAndAverageWithoutGroup) {
  const GroupedPositions positions(std::vector<double>{1, 2, 4, 8}, {{0, 3}, {1, 2}});
  EXPECT_EQ(positions.count(), 4U);
  EXPECT_EQ(positions.count(0), 2U);
  EXPECT_DOUBLE_EQ(positions.mean(), 3.75);
  EXPECT_DOUBLE_EQ(positions.mean(1), 4.5);
  EXPECT_TRUE(std::isnan(GroupedPositions(std::vector<double>{1}, {{0}, {}}).mean(0)));
}

}  // namespace
}  // namespace attention_plasticity

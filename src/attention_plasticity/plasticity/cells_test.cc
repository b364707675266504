#include "attention_plasticity/plasticity/cells.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "attention_plasticity/plasticity/random_rows_testing.h"

namespace attention_plasticity {
namespace {

// Of vectors that are in the space of the model already.
HeadPlasticity measure_rotated(const Matrix& vectors, std::span<const std::int64_t> bucket,
                               std::span<const double> position, std::span<const std::size_t> group, std::size_t groups,
                               const HeadRows& keys, const std::function<std::vector<CellPairs>(std::int64_t)>& cells,
                               Method method, Weighting weighting) {
  LineMoments moments(vectors.cols());
  for (std::size_t i = 0; i < vectors.rows(); ++i) moments.add(position[i], vectors.row(i));
  const LineFit lines = moments.finish();
  const PositionFrame frame(vectors.cols());
  const auto row = [&](std::size_t i, std::span<double> out) { std::ranges::copy(vectors.row(i), out.begin()); };
  const auto draw = [&](std::int64_t query_bucket, double, const TakeCell& take) {
    for (const CellPairs& cell : cells(query_bucket)) take(cell);
  };
  return measure_plasticity({row, frame, lines, bucket, position, group, groups}, keys, draw, method, weighting);
}

// Two query buckets of 3 and 5 queries, a third of one; one cell for bucket 1, three for bucket 2, the last one empty.
class Cells : public testing::Test {
 protected:
  Cells() {
    NumpyGenerator generator(5);
    vectors_ = random_matrix(10, 3, generator);
    keys_ = random_rows(1, 20, 20, 20, 3, generator);
    for (const std::size_t count : {4, 2, 6, 0}) {
      pairs_.emplace_back();
      for (std::size_t i = 0; i < count; ++i) {
        const auto [first, second] = generator.choose_two(20);
        pairs_.back().push_back({first, second});
      }
    }
  }

  HeadPlasticity measure(Method method, Weighting weighting) const {
    const auto draw = [&](std::int64_t bucket) {
      std::vector<CellPairs> cells;
      const std::size_t first = bucket == 1 ? 0 : 1;
      for (std::size_t i = first; i < (bucket == 1 ? 1U : 4U); ++i) {
        cells.push_back({static_cast<std::int64_t>(i - first), pairs_[i], {}});
      }
      return cells;
    };
    return measure_rotated(vectors_, bucket_, position_, {}, 0, keys_, draw, method, weighting);
  }

  Matrix vectors_;
  std::vector<std::int64_t> bucket_{0, 1, 1, 1, 2, 2, 2, 2, 2, 3};
  std::vector<double> position_{0, 10, 11, 15, 20, 21, 22, 23, 29, 30};
  HeadRows keys_;
  std::vector<std::vector<KeyPair>> pairs_;
};

TEST_F(Cells, AverageOverPairsTimesAndHead) {
  const HeadPlasticity head = measure(Method::full, Weighting::queries);
  ASSERT_EQ(head.cells.size(), 4U);
  EXPECT_EQ(head.cells[2].query_bucket, 2);
  EXPECT_EQ(head.cells[2].key_bucket, 1);
  EXPECT_EQ(head.cells[2].n_pairs, 6U);
  EXPECT_TRUE(std::isnan(head.cells[3].plasticity));
  EXPECT_EQ(head.cells[3].n_pairs, 0U);
  const double a = head.cells[0].plasticity, b = head.cells[1].plasticity, c = head.cells[2].plasticity;
  EXPECT_NEAR(head.overall, (3 * a + 5 * b + 5 * c) / 13, 1e-15);
  EXPECT_NEAR(measure(Method::full, Weighting::pairs).overall, (4 * a + 2 * b + 6 * c) / 12, 1e-15);
  EXPECT_NEAR(measure(Method::full, Weighting::uniform).overall, (a + b + c) / 3, 1e-15);

  ASSERT_EQ(head.times.size(), 2U);  // bucket 0 takes no part, bucket 3 has one query only
  EXPECT_EQ(head.times[0].position, 12);
  EXPECT_EQ(head.times[1].position, 23);
  EXPECT_EQ(head.times[1].n_queries, 5U);
  EXPECT_EQ(head.times[1].n_pairs, 8U);
  EXPECT_NEAR(head.times[1].plasticity, (2 * b + 6 * c) / 8, 1e-15);
}

TEST_F(Cells, OfSingleQueryCountForDiagonalOnly) {
  const HeadPlasticity head = measure(Method::diagonal, Weighting::queries);
  ASSERT_EQ(head.times.size(), 3U);
  EXPECT_EQ(head.times[2].n_queries, 1U);
}

// Queries and pairs of three groups: without one of them, the head is what the other two make it.
class CellsWithoutGroup : public testing::TestWithParam<std::tuple<Method, Weighting>> {};

TEST_P(CellsWithoutGroup, AreThoseOfTheRest) {
  const auto [method, weighting] = GetParam();
  NumpyGenerator generator(6);
  const Matrix vectors = random_matrix(60, 3, generator);
  const HeadRows keys = random_rows(1, 31, 31, 31, 3, generator);  // pairs are of one and the next
  std::vector<std::int64_t> bucket;
  std::vector<double> position;
  std::vector<std::size_t> group, pair_group;
  for (std::size_t i = 0; i < 60; ++i) {
    bucket.push_back(static_cast<std::int64_t>(generator.integers(3)));
    position.push_back(100 * static_cast<double>(bucket.back()) + 100 * generator.random());
    group.push_back(generator.integers(3));
  }
  for (std::size_t i = 0; i < 30; ++i) pair_group.push_back(generator.integers(3));
  // Bucket 1 has one cell with all pairs, bucket 2 another one with the first twenty.
  const auto cells = [&](std::int64_t query_bucket, std::optional<std::size_t> left_out) {
    CellPairs cell{0, {}, {}};
    for (std::size_t i = 0; i < (query_bucket == 1 ? 30U : 20U); ++i) {
      if (left_out == pair_group[i]) continue;
      cell.pairs.push_back({i, i + 1});
      cell.group.push_back(pair_group[i]);
    }
    return std::vector<CellPairs>{cell};
  };
  const HeadPlasticity whole = measure_rotated(
      vectors, bucket, position, group, 3, keys, [&](std::int64_t query_bucket) { return cells(query_bucket, {}); },
      method, weighting);
  ASSERT_EQ(whole.without_group.size(), 3U);
  for (std::size_t left_out = 0; left_out < 3; ++left_out) {
    std::vector<std::int64_t> rest_bucket;
    std::vector<double> rest_position;
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < 60; ++i) {
      if (group[i] != left_out) rows.push_back(i);
    }
    Matrix rest(rows.size(), 3);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rest_bucket.push_back(bucket[rows[i]]);
      rest_position.push_back(position[rows[i]]);
      for (std::size_t c = 0; c < 3; ++c) rest.row(i)[c] = vectors.row(rows[i])[c];
    }
    const HeadPlasticity alone = measure_rotated(
        rest, rest_bucket, rest_position, {}, 0, keys,
        [&](std::int64_t query_bucket) { return cells(query_bucket, left_out); }, method, weighting);
    EXPECT_NEAR(whole.without_group[left_out], alone.overall, 1e-13);
  }
}

INSTANTIATE_TEST_SUITE_P(All, CellsWithoutGroup,
                         testing::Combine(testing::Values(Method::positional, Method::full, Method::diagonal),
                                          testing::Values(Weighting::queries, Weighting::pairs, Weighting::uniform)));

TEST(CellsWithoutPairs, GiveNoValue) {
  const std::vector<std::int64_t> bucket{1, 1};
  const std::vector<double> position{1, 2};
  const HeadPlasticity head = measure_rotated(
      Matrix(2, 2), bucket, position, {}, 0, HeadRows{},
      [](std::int64_t) { return std::vector<CellPairs>{{0, {}, {}}}; }, Method::positional, Weighting::queries);
  EXPECT_TRUE(std::isnan(head.overall));
  EXPECT_TRUE(std::isnan(head.times.at(0).plasticity));
}

}  // namespace
}  // namespace attention_plasticity

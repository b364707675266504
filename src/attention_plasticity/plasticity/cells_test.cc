#include "attention_plasticity/plasticity/cells.h"

#include <gtest/gtest.h>

#include <cmath>

#include "attention_plasticity/plasticity/random_rows_testing.h"

namespace attention_plasticity {
namespace {

// Two query buckets of 3 and 5 queries, a third of one; one cell for bucket 1, three for bucket 2, the last one empty.
class Cells : public testing::Test {
 protected:
  Cells() {
    NumpyGenerator generator(5);
    vectors_ = random_matrix(10, 3, generator);
    for (const std::size_t columns : {4, 2, 6, 0}) differences_.push_back(random_matrix(3, columns, generator));
  }

  HeadPlasticity measure(Method method, Weighting weighting) const {
    const auto draw = [&](std::int64_t bucket, double) {
      std::vector<CellPairs> cells;
      const std::size_t first = bucket == 1 ? 0 : 1;
      for (std::size_t i = first; i < (bucket == 1 ? 1U : 4U); ++i) {
        cells.push_back({static_cast<std::int64_t>(i - first), differences_[i], {}});
      }
      return cells;
    };
    return measure_plasticity({vectors_, bucket_, position_, {}, 0}, draw, method, weighting);
  }

  Matrix vectors_;
  std::vector<std::int64_t> bucket_{0, 1, 1, 1, 2, 2, 2, 2, 2, 3};
  std::vector<double> position_{0, 10, 11, 15, 20, 21, 22, 23, 29, 30};
  std::vector<Matrix> differences_;
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

TEST(CellsWithoutPairs, GiveNoValue) {
  const std::vector<std::int64_t> bucket{1, 1};
  const std::vector<double> position{1, 2};
  const HeadPlasticity head = measure_plasticity(
      {Matrix(2, 2), bucket, position, {}, 0},
      [](std::int64_t, double) { return std::vector<CellPairs>{{0, Matrix(2, 0), {}}}; }, Method::positional,
      Weighting::queries);
  EXPECT_TRUE(std::isnan(head.overall));
  EXPECT_TRUE(std::isnan(head.times.at(0).plasticity));
}

}  // namespace
}  // namespace attention_plasticity

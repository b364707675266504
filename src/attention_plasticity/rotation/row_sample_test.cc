#include "attention_plasticity/rotation/row_sample.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "attention_plasticity/base/head_rows.h"
#include "attention_plasticity/base/highway_targets_testing.h"

namespace attention_plasticity {
namespace {

HeadRows random_rows(std::size_t count, std::size_t width, int last, bool whole) {
  HeadRows rows;
  rows.width = width;
  for (std::size_t i = 0; i < count; ++i) {
    rows.bucket.push_back(0);
    rows.position.push_back(*rc::gen::inRange(0, last + 1) + (whole ? 0.0 : 0.25));
    for (std::size_t c = 0; c < width; ++c) {
      rows.vectors.push_back(static_cast<float>(*rc::gen::inRange(-1000, 1000)) / 64.F);
    }
  }
  return rows;
}

// The definition, row by row.
double naive_fixed(const HeadRows& rows, const Rotation& rotation) {
  const std::size_t m = std::min(rows.size(), RowSample::most_rows);
  std::vector<double> sum(rows.width);
  double energy = 0;
  for (std::size_t i = 0; i < m; ++i) {
    const std::size_t row = i * rows.size() / m;
    std::vector<double> vector(rows.row(row).begin(), rows.row(row).end());
    for (const double x : vector) energy += x * x;
    rotation.rotate(vector, -rows.position[row]);
    for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += vector[c];
  }
  double squares = 0;
  for (const double x : sum) squares += x * x;
  const auto n = static_cast<double>(m);
  return (squares - energy) / (n * (n - 1));
}

RC_GTEST_PROP(RowSample, AgreesWithTheSumOverRotatedRows, ()) {
  const auto pairs = *rc::gen::inRange<std::size_t>(0, 20);
  const auto before = *rc::gen::inRange<std::size_t>(0, 4);
  const auto beyond = *rc::gen::inRange<std::size_t>(pairs == 0 ? 1 : 0, 4);
  const auto last = *rc::gen::element(0, 1, 63, 64, 2047, 100000);
  const bool whole = *rc::gen::inRange(0, 4) > 0;
  const HeadRows rows = random_rows(*rc::gen::inRange<std::size_t>(2, 30), before + 2 * pairs + beyond, last, whole);
  Rotation rotation{*rc::gen::element(RotaryLayout::half, RotaryLayout::interleaved), {}, 1, before};
  for (std::size_t i = 0; i < pairs; ++i) rotation.frequency.push_back(std::pow(0.9, static_cast<double>(i)));
  const double expected = naive_fixed(rows, rotation);
  const RowSample sample(rows);
  for_every_target([&](const char* target) {
    RC_LOG() << target;
    RC_ASSERT(std::abs(fixed_under(sample, rotation) - expected) <= 1e-11 * sample.energy());
  });
}

TEST(RowSample, TakesRowsSpreadEvenlyOverTheFile) {
  HeadRows rows;
  rows.width = 1;
  for (std::size_t i = 0; i < 3000; ++i) {
    rows.position.push_back(static_cast<double>(i));
    rows.vectors.push_back(static_cast<float>(i));
  }
  rows.bucket.assign(3000, 0);
  const RowSample sample(rows);
  ASSERT_EQ(sample.rows(), 1024U);
  ASSERT_EQ(sample.positions().size(), 1024U);
  for (std::size_t i = 0; i < 1024; ++i) {
    const auto row = static_cast<double>(i * 3000 / 1024);
    EXPECT_EQ(sample.positions()[i], row);
    EXPECT_EQ(sample.sum(i)[0], row);
  }
}

TEST(RowSample, OfOneVectorIsFixedEntirely) {
  HeadRows rows;
  rows.width = 2;
  rows.bucket = {0, 0, 0};
  rows.position = {5, 7, 7};
  rows.vectors = {3, 4, 3, 4, 3, 4};
  const RowSample sample(rows);
  EXPECT_EQ(sample.positions(), (std::vector<double>{5, 7}));
  EXPECT_EQ(sample.energy(), 25);
  EXPECT_NEAR(fixed_under(sample, {}), 25, 1e-13);
}

TEST(PhaseTables, HoldEveryPosition) {
  const PhaseTables tables({1.0, 0.3, 1e-4}, 5000);
  const std::size_t bits = tables.lower_bits();
  for (std::size_t t = 0; t <= 5000; ++t) {
    const double* const lower = tables.lower(t & ((std::size_t{1} << bits) - 1));
    const double* const upper = tables.upper(t >> bits);
    for (std::size_t i = 0; i < 3; ++i) {
      const double angle = static_cast<double>(t) * tables.frequencies()[i];
      const std::size_t sine = tables.stride() + i;
      ASSERT_NEAR(lower[i] * upper[i] - lower[sine] * upper[sine], std::cos(angle), 2e-12) << t;
      ASSERT_NEAR(lower[sine] * upper[i] + lower[i] * upper[sine], std::sin(angle), 2e-12) << t;
    }
  }
}

}  // namespace
}  // namespace attention_plasticity

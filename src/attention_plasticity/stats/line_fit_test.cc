#include "attention_plasticity/stats/line_fit.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace attention_plasticity {
namespace {

struct Sample {
  std::vector<double> t;
  std::vector<std::vector<double>> x;  // row by row
};

LineMoments moments(const Sample& sample, std::size_t from, std::size_t to, std::size_t components) {
  LineMoments result(components);
  for (std::size_t i = from; i < to; ++i) result.add(sample.t[i], sample.x[i]);
  return result;
}

LineFit fit(const Sample& sample) { return moments(sample, 0, sample.t.size(), sample.x.front().size()).finish(); }

Sample random_sample(std::size_t components) {
  Sample sample;
  const auto values = rc::gen::map(rc::gen::inRange(-10000, 10001), [](int i) { return i / 64.0; });
  const std::size_t rows = *rc::gen::inRange<std::size_t>(3, 40);
  for (std::size_t i = 0; i < rows; ++i) {
    sample.t.push_back(*values);
    sample.x.push_back(*rc::gen::container<std::vector<double>>(components, values));
  }
  return sample;
}

TEST(LineFit, FindsLineAndItsResidual) {
  // x = 2 + 3 t, plus and minus 1: the residuals are orthogonal to t.
  const LineFit line = fit({{0, 0, 2, 2}, {{3}, {1}, {9}, {7}}});
  EXPECT_DOUBLE_EQ(line.intercept[0], 2);
  EXPECT_DOUBLE_EQ(line.slope[0], 3);
  EXPECT_NEAR(line.residual_variance[0], 4.0 / 3, 1e-14);  // the difference 40 - 36 loses a few digits
  EXPECT_DOUBLE_EQ(line.r_squared[0], 36.0 / 40);
}

RC_GTEST_PROP(LineFit, ResidualsAreOrthogonalToPosition, ()) {
  const Sample sample = random_sample(2);
  const LineFit line = fit(sample);
  for (std::size_t c = 0; c < 2; ++c) {
    double sum = 0, moment = 0, squares = 0, scale = 1;
    for (std::size_t i = 0; i < sample.t.size(); ++i) {
      const double residual = sample.x[i][c] - line.intercept[c] - line.slope[c] * sample.t[i];
      sum += residual;
      moment += residual * sample.t[i];
      squares += residual * residual;
      scale += sample.x[i][c] * sample.x[i][c] + sample.t[i] * sample.t[i];
    }
    RC_ASSERT(std::abs(sum) < 1e-9 * scale);
    RC_ASSERT(std::abs(moment) < 1e-9 * scale);
    const auto n = static_cast<double>(sample.t.size());
    RC_ASSERT(std::abs(squares / (n - 1) - line.residual_variance[c]) < 1e-9 * scale);
    RC_ASSERT(line.r_squared[c] <= 1.0);
    RC_ASSERT(line.r_squared[c] >= 0.0);
  }
}

RC_GTEST_PROP(LineMoments, MergeTheSameInEverySplit, ()) {
  const Sample sample = random_sample(3);
  const std::size_t n = sample.t.size();
  const std::size_t first = *rc::gen::inRange<std::size_t>(0, n + 1);
  const std::size_t second = *rc::gen::inRange<std::size_t>(first, n + 1);
  LineMoments merged = moments(sample, second, n, 3);
  merged.merge(moments(sample, 0, first, 3));
  merged.merge(moments(sample, first, second, 3));
  const LineFit whole = fit(sample);
  const LineFit split = merged.finish();
  for (std::size_t c = 0; c < 3; ++c) {
    const double scale = 1e-9 * (1 + std::abs(whole.slope[c]) + std::abs(whole.intercept[c]));
    RC_ASSERT(std::abs(whole.slope[c] - split.slope[c]) <= scale);
    RC_ASSERT(std::abs(whole.intercept[c] - split.intercept[c]) <= 1e3 * scale);
    RC_ASSERT(std::abs(whole.r_squared[c] - split.r_squared[c]) <= 1e-9);
    RC_ASSERT(std::abs(whole.residual_variance[c] - split.residual_variance[c]) <=
              1e-9 * (1 + whole.residual_variance[c]));
  }
}

TEST(LineMoments, KeepsDigitsFarFromZero) {
  const double far = 1e9;
  const LineFit line = fit({{far, far + 1, far + 2, far + 3}, {{far}, {far + 1.5}, {far + 1.5}, {far + 3}}});
  EXPECT_NEAR(line.slope[0], 0.9, 1e-12);
  EXPECT_NEAR(line.residual_variance[0], 0.15, 1e-12);
  EXPECT_NEAR(line.r_squared[0], 0.9, 1e-12);
}

TEST(LineOrigin, IsTheSmallestValueFarFromZeroOnly) {
  const std::vector<double> near{100, 0, 240};
  const std::vector<double> far{0x1p40 + 100, 0x1p40, 0x1p40 + 240};
  const std::vector<double> below{-5000, -4999};
  const std::vector<double> equal{7.1, 7.1};
  EXPECT_EQ(line_origin(near), 0);
  EXPECT_EQ(line_origin(far), 0x1p40);
  EXPECT_EQ(line_origin(below), -5000);
  EXPECT_EQ(line_origin(equal), 7.1);
}

TEST(LineMoments, CountedFromAnOriginLoseNothingFarFromZero) {
  const double far = 0x1p40;
  const std::vector<double> x{0.5, 2.25, 1.75};
  LineMoments near(1);
  LineMoments moved(1, far);
  for (std::size_t i = 0; i < x.size(); ++i) {
    near.add(static_cast<double>(7 * i), {&x[i], 1});
    moved.add(far + static_cast<double>(7 * i), {&x[i], 1});
  }
  EXPECT_EQ(moved.finish().origin, far);
  EXPECT_EQ(moved.finish().slope, near.finish().slope);
  EXPECT_EQ(moved.finish().intercept, near.finish().intercept);
  EXPECT_EQ(moved.finish().residual_variance, near.finish().residual_variance);
}

TEST(LineFit, WithoutSpreadInPositionIsFlat) {
  const LineFit line = fit({{7.1, 7.1, 7.1}, {{1}, {2}, {6}}});
  EXPECT_EQ(line.slope[0], 0);
  EXPECT_EQ(line.r_squared[0], 0);
  EXPECT_DOUBLE_EQ(line.intercept[0], 3);
  EXPECT_DOUBLE_EQ(line.residual_variance[0], 7);
}

TEST(LineFit, ConstantComponentHasNoFitUnlessAskedTo) {
  const Sample sample{{1, 2, 3}, {{0.1}, {0.1}, {0.1}}};
  EXPECT_EQ(fit(sample).r_squared[0], 0);
  EXPECT_EQ(fit(sample).residual_variance[0], 0);
  EXPECT_EQ(moments(sample, 0, 3, 1).finish(ConstantComponent::fits).r_squared[0], 1);
}

TEST(LineFit, TinySpreadIsHeldAgainstFloor) {
  // ss_tot = 2e-14 lies below 1e-12, so R² = 1 - ss_res / 1e-12 with ss_res = 2e-14 (no slope).
  const LineFit line = fit({{-1, 0, 1}, {{1e-7}, {0}, {1e-7}}});
  EXPECT_NEAR(line.r_squared[0], 1 - (2e-14 / 3) / 1e-12, 1e-12);
}

TEST(LineFit, OfSingleRowHasUnitVariance) {
  const LineFit line = fit({{5}, {{2, 3}}});
  EXPECT_EQ(line.intercept, (std::vector<double>{2, 3}));
  EXPECT_EQ(line.slope, (std::vector<double>{0, 0}));
  EXPECT_EQ(line.residual_variance, (std::vector<double>{1, 1}));
}

}  // namespace
}  // namespace attention_plasticity

#include "attention_plasticity/rotary/rotation_table.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "attention_plasticity/base/highway_targets_testing.h"

namespace attention_plasticity {
namespace {

double distance_between(const std::vector<double>& a, const std::vector<double>& b) {
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(squares);
}

RC_GTEST_PROP(RotationTable, RotatesAsTheRotationDoes, ()) {
  const auto pairs = *rc::gen::inRange<std::size_t>(0, 66);
  const auto before = *rc::gen::inRange<std::size_t>(0, 4);
  const auto beyond = *rc::gen::inRange<std::size_t>(0, 4);
  const int most = *rc::gen::inRange(0, 5000);
  const int tokens = *rc::gen::inRange(-most - 3, most + 4);
  Rotation rotation;
  rotation.layout = *rc::gen::element(RotaryLayout::half, RotaryLayout::interleaved);
  for (std::size_t i = 0; i < pairs; ++i) rotation.frequency.push_back(std::pow(0.9, static_cast<double>(i)));
  rotation.first = before;
  std::vector<float> vector;
  for (std::size_t c = 0; c < before + rotation.dim() + beyond; ++c) {
    vector.push_back(static_cast<float>(*rc::gen::inRange(-1000, 1000)) / 64.F);
  }
  std::vector<double> expected(vector.begin(), vector.end());
  rotation.rotate(expected, tokens);
  for_every_target([&](const char* target) {
    RC_LOG() << target;
    const RotationTable table(rotation, most);
    std::vector<double> rotated(vector.size());
    table.rotate(vector, tokens, rotated);
    RC_ASSERT(distance_between(rotated, expected) <=
              2e-12 * (1 + distance_between(expected, std::vector<double>(expected.size()))));
    std::vector<double> back = rotated;
    table.rotate(back, -tokens);
    RC_ASSERT(distance_between(back, std::vector<double>(vector.begin(), vector.end())) <= 1e-12);
  });
}

TEST(RotationTable, ReachesItsLastToken) {
  const Rotation rotation{RotaryLayout::half, {1.0, 0.3, 0.01}, 1};
  for (const int most : {0, 1, 2, 63, 64, 2047, 2048, 5000}) {
    const RotationTable table(rotation, most);
    for (int tokens = 0; tokens <= most; ++tokens) {
      std::vector<double> expected{1, 2, 3, 4, 5, 6};
      std::vector<double> rotated = expected;
      rotation.rotate(expected, tokens);
      table.rotate(rotated, tokens);
      ASSERT_LT(distance_between(rotated, expected), 1e-11) << tokens << " of " << most;
    }
  }
}

TEST(RotationTable, TakesPositionsBetweenTokens) {
  const Rotation rotation{RotaryLayout::half, {1.0, 0.1}, 1};
  const RotationTable table(rotation, 100);
  for (const double tokens : {0.5, -7.25, 99.5, 1e9}) {
    std::vector<double> expected{1, 2, 3, 4};
    std::vector<double> rotated = expected;
    rotation.rotate(expected, tokens);
    table.rotate(rotated, tokens);
    EXPECT_EQ(rotated, expected) << tokens;
  }
}

TEST(RotationTable, LeavesVectorsOfARotationWithoutFrequencies) {
  std::vector<double> vector{1, 2, 3};
  RotationTable(Rotation{}, 50).rotate(vector, 7);
  EXPECT_EQ(vector, (std::vector<double>{1, 2, 3}));
}

}  // namespace
}  // namespace attention_plasticity

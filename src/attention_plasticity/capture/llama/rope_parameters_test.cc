#include "attention_plasticity/capture/llama/rope_parameters.h"

#include <gtest/gtest.h>

#include <cmath>

#include "attention_plasticity/rotary/rotary_parameters.h"

namespace attention_plasticity {
namespace {

TEST(RopeParameters, OfAPlainRotationAreItsTheta) {
  const LayerRotation layer = rotation_of({.dims = 8, .first = 4, .base = 500000});
  EXPECT_EQ(layer.kind, RotaryKind::standard);
  EXPECT_EQ(layer.theta, 500000);
  EXPECT_EQ(layer.rotation.first, 4U);
  EXPECT_EQ(layer.rotation.layout, RotaryLayout::half);
  ASSERT_EQ(layer.rotation.frequency.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_DOUBLE_EQ(layer.rotation.frequency[i], std::pow(500000, -static_cast<double>(i) / 4));
  }
}

TEST(RopeParameters, FactorsDivideFrequencies) {
  const LayerRotation layer = rotation_of({.dims = 4, .base = 100, .scale = 0.5, .factors = {2, 4}});
  EXPECT_EQ(layer.kind, RotaryKind::listed);
  ASSERT_EQ(layer.rotation.frequency.size(), 2U);
  EXPECT_DOUBLE_EQ(layer.rotation.frequency[0], 0.25);
  EXPECT_DOUBLE_EQ(layer.rotation.frequency[1], 0.0125);
}

// Two ways to one formula: the one that reads a model's config.json, and the one that reads a graph.
TEST(RopeParameters, OfYarnAreThoseOfTheConfig) {
  RotaryParameters config;
  config.kind = RotaryKind::yarn;
  config.theta = 150000;
  config.factor = 32;
  config.original_length = 4096;
  const Rotation expected = make_rotation(config, 64, RotaryLayout::half, 0);
  const LayerRotation layer =
      rotation_of({.dims = 64, .base = 150000, .scale = 1.0 / 32, .extrapolation = 1, .original_length = 4096});
  EXPECT_EQ(layer.kind, RotaryKind::listed);
  EXPECT_NEAR(layer.rotation.attention_factor, expected.attention_factor, 1e-12);
  ASSERT_EQ(layer.rotation.frequency.size(), 32U);
  for (std::size_t i = 0; i < 32; ++i) EXPECT_NEAR(layer.rotation.frequency[i], expected.frequency[i], 1e-12) << i;
}

TEST(RopeParameters, OfFourPositionsLetTheLastPairsStandStill) {
  EXPECT_EQ(still_pairs(16, {2, 2, 2, 2}, false),
            (std::vector<bool>{false, false, false, false, false, false, true, true}));
  // Sections of 3, 2 and 2 pairs that alternate: time, height, width, time, height, width, time, and one of no section.
  EXPECT_EQ(still_pairs(16, {3, 2, 2, 1}, true),
            (std::vector<bool>{false, false, false, false, false, false, false, true}));
  EXPECT_EQ(still_pairs(4, {0, 0, 0, 0}, false), (std::vector<bool>{false, false}));
  const LayerRotation layer = rotation_of({.dims = 4, .base = 100, .still = {false, true}});
  EXPECT_EQ(layer.kind, RotaryKind::listed);
  EXPECT_EQ(layer.rotation.frequency, (std::vector<double>{1, 0}));
}

TEST(HalvePairs, TurnsAdjacentPairsIntoHalves) {
  std::vector<float> vector{9, 0, 1, 2, 3, 4, 5, 8};
  std::vector<float> scratch;
  halve_pairs(vector.data(), 1, 6, scratch);
  EXPECT_EQ(vector, (std::vector<float>{9, 0, 2, 4, 1, 3, 5, 8}));
}

TEST(HalvePairs, CommutesWithTheRotation) {
  Rotation adjacent = rotation_of({.dims = 6, .first = 1, .base = 50}).rotation;
  const Rotation halves = adjacent;
  adjacent.layout = RotaryLayout::interleaved;
  std::vector<float> rotated_first{1, 2, -3, 4, 5, 6, -7, 8};
  std::vector<float> halved_first = rotated_first;
  std::vector<float> scratch;
  adjacent.rotate(std::span(rotated_first), 11);
  halve_pairs(rotated_first.data(), 1, 6, scratch);
  halve_pairs(halved_first.data(), 1, 6, scratch);
  halves.rotate(std::span(halved_first), 11);
  EXPECT_EQ(rotated_first, halved_first);
}

}  // namespace
}  // namespace attention_plasticity

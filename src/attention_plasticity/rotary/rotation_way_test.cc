#include "attention_plasticity/rotary/rotation_way.h"

#include <gtest/gtest.h>

#include <cmath>

#include "attention_plasticity/rotary/rotated_rows_testing.h"

namespace attention_plasticity {
namespace {

TEST(RotationWay, ThereAreFortyOneThatAreKnown) {
  const std::span<const RotationWay> ways = known_ways();
  ASSERT_EQ(ways.size(), 41U);
  EXPECT_EQ(ways[0], RotationWay{});
  EXPECT_EQ(ways[1], (RotationWay{RotationShape{RotaryLayout::half, RotatedPart::all}, 1e4}));
  EXPECT_EQ(ways[40], (RotationWay{RotationShape{RotaryLayout::interleaved, RotatedPart::last_half}, 1e7}));
}

TEST(RotationWay, PartsOfOddSizeAreLeftOut) {
  EXPECT_EQ(components_of(RotatedPart::all, 64), (ComponentRange{0, 64}));
  EXPECT_EQ(components_of(RotatedPart::first_half, 64), (ComponentRange{0, 32}));
  EXPECT_EQ(components_of(RotatedPart::first_quarter, 64), (ComponentRange{0, 16}));
  EXPECT_EQ(components_of(RotatedPart::last_half, 64), (ComponentRange{32, 32}));
  EXPECT_EQ(components_of(RotatedPart::all, 7), std::nullopt);
  EXPECT_EQ(components_of(RotatedPart::first_half, 6), std::nullopt);
  EXPECT_EQ(components_of(RotatedPart::first_quarter, 3), std::nullopt);
}

TEST(RotationWay, KnownTablesGiveWhatEachRotationGives) {
  const RowSample sample(rotated_rows(*rotation_of({RotationShape{}, 1e5}, 24), 24, 1, 1, 600));
  KnownWayTables tables;
  for (int repeat = 0; repeat < 2; ++repeat) {
    const std::vector<double> fixed = tables.fixed(sample);
    for (std::size_t i = 0; i < fixed.size(); ++i) {
      const std::optional<Rotation> rotation = rotation_of(known_ways()[i], 24);
      ASSERT_EQ(rotation.has_value(), !std::isnan(fixed[i])) << i;
      if (!rotation) continue;
      EXPECT_NEAR(fixed[i], fixed_under(sample, *rotation), 1e-11) << i;
    }
  }
}

TEST(RefinedTheta, FindsTheThetaOfTheRows) {
  for (const double theta : {3e4, 1.5e5, 2e6, 9e6}) {
    for (const RotationShape& shape : rotation_shapes()) {
      if (shape.part == RotatedPart::first_quarter) continue;
      const Rotation rotation = *rotation_of({shape, theta}, 64);
      const RowSample first(rotated_rows(rotation, 64, 1, 1, 600));
      const RowSample second(rotated_rows(rotation, 64, 1, 2, 600));
      const std::vector<const RowSample*> samples{&first, &second};
      const double found = refined_theta(samples, shape);
      EXPECT_NEAR(found / theta, 1, 0.03) << theta;
      const ComponentRange components = *components_of(shape.part, 64);
      EXPECT_EQ(refined_theta(samples, shape.layout, components), found);
      const auto fixed_at = [&](double tried) {
        return fixed_under(first, *rotation_of({shape, tried}, 64)) +
               fixed_under(second, *rotation_of({shape, tried}, 64));
      };
      EXPECT_GT(fixed_at(found), fixed_at(0.9 * found)) << theta;
      EXPECT_GT(fixed_at(found), fixed_at(1.1 * found)) << theta;
    }
  }
}

TEST(RefinedTheta, NearAUsualOneIsThatOne) {
  const RotationShape shape;
  const RowSample sample(rotated_rows(*rotation_of({shape, 2.5e5 * 1.002}, 64), 64, 1, 3, 600));
  const std::vector<const RowSample*> samples{&sample};
  EXPECT_EQ(refined_theta(samples, shape), 2.5e5);
}

TEST(RefinedTheta, OfNoSampleIsZero) {
  EXPECT_EQ(refined_theta({}, RotationShape{}), 0);
  const RowSample narrow(rotated_rows({}, 4, 1, 1, 600));
  const std::vector<const RowSample*> samples{&narrow};
  EXPECT_EQ(refined_theta(samples, RotaryLayout::half, {0, 8}), 0);
}

}  // namespace
}  // namespace attention_plasticity

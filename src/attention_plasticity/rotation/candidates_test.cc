#include "attention_plasticity/rotation/candidates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "attention_plasticity/rotation/rotated_rows_testing.h"

namespace attention_plasticity {
namespace {

TEST(RotationCandidate, FortyOneAreCommon) {
  const std::span<const RotationCandidate> common = common_candidates();
  ASSERT_EQ(common.size(), 41U);
  EXPECT_EQ(common[0], RotationCandidate{});
  EXPECT_EQ(common[1], (RotationCandidate{RotationShape{RotaryLayout::half, RotatedPart::all}, 1e4}));
  EXPECT_EQ(common[40], (RotationCandidate{RotationShape{RotaryLayout::interleaved, RotatedPart::last_half}, 1e7}));
}

TEST(RotationCandidate, IsNamedInWordsAndInSettings) {
  const RotationCandidate all{RotationShape{}, 1e5};
  EXPECT_EQ(all.text(64), "theta 100000, half, all 64 components");
  EXPECT_EQ(all.settings(64), "`rope_theta: 100000`, `rope_layout: half`");
  const RotationCandidate quarter{RotationShape{RotaryLayout::interleaved, RotatedPart::first_quarter}, 123456};
  EXPECT_EQ(quarter.text(64), "theta 123500, interleaved, 16 of 64 components");
  EXPECT_EQ(quarter.settings(64), "`rope_theta: 123500`, `rope_layout: interleaved`, `rope_dim: 16`");
  const RotationCandidate last{RotationShape{RotaryLayout::half, ComponentRange{32, 32}}, 1e4};
  EXPECT_EQ(last.text(64), "theta 10000, half, components 32 to 63 of 64");
  EXPECT_EQ(last.settings(64), "`rope_theta: 10000`, `rope_layout: half`, `rope_first: 32`, `rope_dim: 32`");
  EXPECT_EQ(RotationCandidate{}.text(64), "no rotation");
  EXPECT_EQ(RotationCandidate{}.settings(64), "`rope: none`");
}

TEST(RotationShape, OfPartsOfOddSizeDoesNotFit) {
  const auto components = [](RotatedPart part, std::size_t width) {
    return RotationShape{RotaryLayout::half, part}.components_in(width);
  };
  EXPECT_EQ(components(RotatedPart::all, 64), (ComponentRange{0, 64}));
  EXPECT_EQ(components(RotatedPart::first_half, 64), (ComponentRange{0, 32}));
  EXPECT_EQ(components(RotatedPart::first_quarter, 64), (ComponentRange{0, 16}));
  EXPECT_EQ(components(RotatedPart::last_half, 64), (ComponentRange{32, 32}));
  EXPECT_EQ(components(RotatedPart::all, 7), std::nullopt);
  EXPECT_EQ(components(RotatedPart::first_half, 6), std::nullopt);
  EXPECT_EQ(components(RotatedPart::first_quarter, 3), std::nullopt);
}

TEST(RotationShape, OfARangeFitsVectorsThatHoldIt) {
  const RotationShape shape{RotaryLayout::half, ComponentRange{4, 8}};
  EXPECT_EQ(shape.components_in(12), (ComponentRange{4, 8}));
  EXPECT_EQ(shape.components_in(11), std::nullopt);
  const std::size_t huge = std::numeric_limits<std::size_t>::max() - 1;
  EXPECT_EQ((RotationShape{RotaryLayout::half, ComponentRange{4, huge}}.components_in(12)), std::nullopt);
}

TEST(CommonCandidateTables, GiveWhatEachRotationGives) {
  const RowSample sample(rotated_rows(rotation_with(1e5, 24), 24, 1, 1, 600));
  CommonCandidateTables tables;
  for (int repeat = 0; repeat < 2; ++repeat) {
    const std::vector<double> fixed = tables.fixed(sample);
    for (std::size_t i = 0; i < fixed.size(); ++i) {
      const std::optional<Rotation> rotation = common_candidates()[i].rotation(24);
      ASSERT_EQ(rotation.has_value(), !std::isnan(fixed[i])) << i;
      if (!rotation) continue;
      EXPECT_NEAR(fixed[i], fixed_under(sample, *rotation), 1e-11) << i;
    }
  }
}

TEST(RefinedTheta, FindsTheThetaOfTheRows) {
  for (const double theta : {3e4, 1.5e5, 2e6, 9e6}) {
    for (const RotationShape& shape : common_shapes()) {
      if (std::get<RotatedPart>(shape.components) == RotatedPart::first_quarter) continue;
      const Rotation rotation = *RotationCandidate{shape, theta}.rotation(64);
      const RowSample first(rotated_rows(rotation, 64, 1, 1, 600));
      const RowSample second(rotated_rows(rotation, 64, 1, 2, 600));
      const std::vector<const RowSample*> samples{&first, &second};
      const double found = refined_theta(samples, shape);
      EXPECT_NEAR(found / theta, 1, 0.03) << theta;
      const RotationShape range{shape.layout, *shape.components_in(64)};
      EXPECT_EQ(refined_theta(samples, range), found);
      const auto fixed_at = [&](double tried) {
        return fixed_under(first, *RotationCandidate{shape, tried}.rotation(64)) +
               fixed_under(second, *RotationCandidate{shape, tried}.rotation(64));
      };
      EXPECT_GT(fixed_at(found), fixed_at(0.9 * found)) << theta;
      EXPECT_GT(fixed_at(found), fixed_at(1.1 * found)) << theta;
    }
  }
}

TEST(RefinedTheta, NearAUsualOneIsThatOne) {
  const RotationShape shape;
  const RowSample sample(rotated_rows(*RotationCandidate{shape, 2.5e5 * 1.002}.rotation(64), 64, 1, 3, 600));
  const std::vector<const RowSample*> samples{&sample};
  EXPECT_EQ(refined_theta(samples, shape), 2.5e5);
}

TEST(RefinedTheta, OfNoSampleIsZero) {
  EXPECT_EQ(refined_theta({}, RotationShape{}), 0);
  const RowSample narrow(rotated_rows({}, 4, 1, 1, 600));
  const std::vector<const RowSample*> samples{&narrow};
  EXPECT_EQ(refined_theta(samples, RotationShape{RotaryLayout::half, ComponentRange{0, 8}}), 0);
}

}  // namespace
}  // namespace attention_plasticity

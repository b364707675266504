#include "attention_plasticity/rotation/inference.h"

#include <gtest/gtest.h>

#include <cmath>

#include "attention_plasticity/base/text_testing.h"
#include "attention_plasticity/rotation/rotated_rows_testing.h"

namespace attention_plasticity {
namespace {

InferredRotation inferred(RotatedHeads& heads) { return infer_rotation(heads.heads(), heads.rows()); }

TEST(RotationInference, FindsThetaLayoutAndPart) {
  struct Case {
    Rotation rotation;
    double theta;
    std::string text;
  };
  const std::vector<Case> cases{
      {rotation_with(10000, 32), 10000, "theta 10000, half, all 32 components"},
      {rotation_with(150000, 32, RotaryLayout::interleaved), 150000, "theta 150000, interleaved, all 32 components"},
      {rotation_with(500000, 16, RotaryLayout::half), 500000, "theta 500000, half, 16 of 32 components"},
      {rotation_with(10000, 16, RotaryLayout::interleaved, 16), 10000, "interleaved, components 16 to 31 of 32"}};
  for (const Case& expected : cases) {
    RotatedHeads heads(3, 32, 1.5, [&](int) { return expected.rotation; });
    const InferredRotation found = inferred(heads);
    ASSERT_TRUE(found.rotation) << expected.text << ": " << found.line;
    EXPECT_EQ(found.rotation->source, RotationSource::inferred);
    const LayerRotation layer = found.rotation->layer(0, 32);
    EXPECT_NEAR(layer.theta / expected.theta, 1, 0.02) << expected.text;
    EXPECT_EQ(layer.rotation.layout, expected.rotation.layout) << expected.text;
    EXPECT_EQ(layer.rotation.first, expected.rotation.first) << expected.text;
    EXPECT_EQ(layer.rotation.dim(), expected.rotation.dim()) << expected.text;
    expect_parts(found.line, {"the rotation is inferred from the vectors: ", "`rope_config`"});
    EXPECT_FALSE(found.may_be_wrong);
    ASSERT_TRUE(found.shares);
    EXPECT_GT(found.shares->dump.configured, 0.5);
  }
}

TEST(RotationInference, LeavesLayersWithoutRotation) {
  RotatedHeads heads(6, 16, 1.5, [](int layer) { return layer == 2 ? Rotation{} : rotation_with(10000, 16); });
  const InferredRotation found = inferred(heads);
  ASSERT_TRUE(found.rotation);
  EXPECT_EQ(found.rotation->layer(2, 16).kind, RotaryKind::none);
  EXPECT_EQ(found.rotation->layer(3, 16).kind, RotaryKind::standard);
  expect_parts(found.line, {"none in layer 2"});
}

TEST(RotationInference, LeavesOutALayerThatFitsAnotherCandidate) {
  RotatedHeads heads(6, 16, 1.5, [](int layer) {
    return rotation_with(10000, 16, layer == 4 ? RotaryLayout::interleaved : RotaryLayout::half);
  });
  const InferredRotation found = inferred(heads);
  ASSERT_TRUE(found.rotation);
  EXPECT_FALSE(found.rotation->is_known_in(4));
  EXPECT_TRUE(found.rotation->is_known_in(3));
  expect_parts(found.line, {"no `ap_exact`, in layer 4"});
}

TEST(RotationInference, TakesNoRotationWithAWarning) {
  RotatedHeads heads(2, 16, 1, [](int) { return Rotation{}; });
  const InferredRotation found = inferred(heads);
  ASSERT_TRUE(found.rotation);
  EXPECT_EQ(found.rotation->layer(0, 16).kind, RotaryKind::none);
  EXPECT_TRUE(found.may_be_wrong);
  expect_parts(found.line, {"did not rotate", "captured before the rotation", "`rope_config` and `vectors: pre`"});
}

TEST(RotationInference, NamesWhatToPassWhenNothingCanBeDecided) {
  RotatedHeads noise(2, 16, 0, [](int) { return rotation_with(10000, 16); });
  const InferredRotation unseen = inferred(noise);
  EXPECT_FALSE(unseen.rotation);
  EXPECT_TRUE(unseen.shares);
  expect_parts(unseen.line,
               {"position-exact plasticity is left out", "does not show", "`rope_config`", "`rope: none`"});
  RotatedHeads mixed(2, 16, 1.5, [](int layer) {
    return rotation_with(10000, 16, layer == 0 ? RotaryLayout::half : RotaryLayout::interleaved);
  });
  const InferredRotation unclear = inferred(mixed);
  EXPECT_FALSE(unclear.rotation);
  expect_parts(unclear.line, {"does not show clearly"});
  for (const HeadSide& head : mixed.heads()) mixed.damage(head);
  const InferredRotation unread = inferred(mixed);
  EXPECT_FALSE(unread.rotation);
  EXPECT_FALSE(unread.shares);
  expect_parts(unread.line, {"since the model's rotation is unknown: pass"});
}

TEST(ObserveRotation, OrdersTheShapesByShareAndMeasuresTheConfiguredRotation) {
  RotatedHeads heads(2, 16, 1, [](int) { return rotation_with(10000, 16); });
  const Rotation configured = rotation_with(10000, 16);
  const auto observed =
      observe_rotation(heads.heads(), heads.rows(), [&](int, std::size_t) { return std::optional(configured); });
  ASSERT_TRUE(observed);
  EXPECT_EQ(observed->refined.size(), 8U);
  EXPECT_TRUE(std::ranges::is_sorted(observed->refined, std::ranges::greater{}, &RefinedCandidate::share));
  EXPECT_EQ(observed->refined[0].candidate, (RotationCandidate{RotationShape{}, 10000}));
  EXPECT_EQ(observed->refined[0].of_layer.size(), 2U);
  EXPECT_NEAR(observed->shares.dump.configured, observed->refined[0].share, 1e-12);
  const auto unknown = observe_rotation(heads.heads(), heads.rows(), {});
  EXPECT_TRUE(std::isnan(unknown->shares.dump.configured));
}

}  // namespace
}  // namespace attention_plasticity

#include "attention_plasticity/run/rotation_inference.h"

#include <gtest/gtest.h>

#include "attention_plasticity/base/text_testing.h"
#include "attention_plasticity/run/rotated_dump_testing.h"

namespace attention_plasticity {
namespace {

PreparedRun prepared(const SmallDump& dump, Flags flags = {}) {
  RunConfig config = dump.config(flags);
  config.analysis.num_triples = 8;
  PreparedRun run = prepare_run(config);
  Observed observed;
  decide(run, config, serialized(observed.observer()), {});
  run.notes.insert(run.notes.end(), observed.notes.begin(), observed.notes.end());
  run.warnings.insert(run.warnings.end(), observed.warnings.begin(), observed.warnings.end());
  return run;
}

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
    const RotatedDump dump(3, 32, 1.5, [&](int) { return expected.rotation; });
    const PreparedRun run = prepared(dump);
    ASSERT_TRUE(run.rotation) << expected.text << ": " << run.notes.front();
    EXPECT_EQ(run.rotation->source, RotationSource::inferred);
    const LayerRotation layer = run.rotation->layer(0, 32);
    EXPECT_NEAR(layer.theta / expected.theta, 1, 0.02) << expected.text;
    EXPECT_EQ(layer.rotation.layout, expected.rotation.layout) << expected.text;
    EXPECT_EQ(layer.rotation.first, expected.rotation.first) << expected.text;
    EXPECT_EQ(layer.rotation.dim(), expected.rotation.dim()) << expected.text;
    ASSERT_EQ(run.notes.size(), 1U);
    expect_parts(run.notes[0], {"the rotation is inferred from the vectors: ", "`rope_config`"});
    EXPECT_TRUE(run.warnings.empty());
    ASSERT_TRUE(run.rotation_shares);
    EXPECT_GT(run.rotation_shares->dump.configured, 0.5);
  }
}

TEST(RotationInference, LeavesLayersWithoutRotation) {
  const RotatedDump dump(6, 16, 1.5, [](int layer) { return layer == 2 ? Rotation{} : rotation_with(10000, 16); });
  const PreparedRun run = prepared(dump);
  ASSERT_TRUE(run.rotation);
  EXPECT_EQ(run.rotation->layer(2, 16).kind, RotaryKind::none);
  EXPECT_EQ(run.rotation->layer(3, 16).kind, RotaryKind::standard);
  expect_parts(run.notes.front(), {"none in layer 2"});
}

TEST(RotationInference, LeavesOutALayerThatFitsAnotherWay) {
  const RotatedDump dump(6, 16, 1.5, [](int layer) {
    return rotation_with(10000, 16, layer == 4 ? RotaryLayout::interleaved : RotaryLayout::half);
  });
  const PreparedRun run = prepared(dump);
  ASSERT_TRUE(run.rotation);
  EXPECT_FALSE(run.rotation->is_known_in(4));
  EXPECT_TRUE(run.rotation->is_known_in(3));
  expect_parts(run.notes.front(), {"no `ap_exact`, in layer 4"});
  RunConfig config = dump.config({{"--num_triples", "8"}});
  const RunResult result = run_of(config);
  for (const HeadResult& head : result.results) EXPECT_EQ(head.exact.has_value(), head.head.layer != 4);
}

TEST(RotationInference, TakesNoRotationWithAWarning) {
  const RotatedDump dump(2, 16, 1, [](int) { return Rotation{}; });
  const PreparedRun run = prepared(dump);
  ASSERT_TRUE(run.rotation);
  EXPECT_EQ(run.rotation->layer(0, 16).kind, RotaryKind::none);
  ASSERT_EQ(run.warnings.size(), 1U);
  expect_parts(run.warnings[0], {"did not rotate", "captured before the rotation", "`rope_config` and `vectors: pre`"});
}

TEST(RotationInference, SaysWhatToPassWhenNothingCanBeDecided) {
  const RotatedDump dump(2, 16, 0, [](int) { return rotation_with(10000, 16); });
  const PreparedRun noise = prepared(dump);
  EXPECT_FALSE(noise.rotation);
  EXPECT_TRUE(noise.rotation_shares);
  ASSERT_EQ(noise.notes.size(), 1U);
  expect_parts(noise.notes[0],
               {"position-exact plasticity is left out", "does not show", "`rope_config`", "`rope: none`"});
  const RotatedDump two_ways(2, 16, 1.5, [](int layer) {
    return rotation_with(10000, 16, layer == 0 ? RotaryLayout::half : RotaryLayout::interleaved);
  });
  const PreparedRun unclear = prepared(two_ways);
  EXPECT_FALSE(unclear.rotation);
  expect_parts(unclear.notes.front(), {"does not show clearly"});
}

TEST(RotationInference, NeedsVectorsThatWereRotated) {
  const RotatedDump dump(2, 16, 1, [](int) { return Rotation{}; });
  const PreparedRun run = prepared(dump, {{"--vectors", "pre"}});
  EXPECT_FALSE(run.rotation);
  expect_parts(run.notes.front(), {"position-exact plasticity is left out", "captured before it do not show it"});
}

TEST(RotationInference, IsNotAskedWhenSettingsOrAConfigSpeak) {
  const RotatedDump dump(1, 16, 1, [](int) { return rotation_with(10000, 16); });
  EXPECT_EQ(prepared(dump, {{"--rope_theta", "500"}}).rotation->source, RotationSource::flags);
  EXPECT_EQ(prepared(dump, {{"--rope", "none"}}).rotation->source, RotationSource::flags);
  write_text(dump.root() / "config.json", R"({"model_type": "llama", "head_dim": 16, "rope_theta": 500})");
  EXPECT_EQ(prepared(dump).rotation->source, RotationSource::config);
}

}  // namespace
}  // namespace attention_plasticity

#include "attention_plasticity/run/rotation_check.h"

#include <gtest/gtest.h>

#include "attention_plasticity/base/text_testing.h"
#include "attention_plasticity/run/rotated_dump_testing.h"

namespace attention_plasticity {
namespace {

struct Checked {
  std::vector<std::string> warnings;
  RunResult result;
};

Checked checked(const SmallDump& dump, Flags flags, int workers = 1) {
  RunConfig config = dump.config(flags);
  config.analysis.num_triples = 8;
  Observed observed;
  Checked run{{}, run_of(config, workers, observed)};
  run.warnings = std::move(observed.warnings);
  return run;
}

std::string only_warning(const SmallDump& dump, Flags flags) {
  const Checked run = checked(dump, flags);
  EXPECT_EQ(run.warnings.size(), 1U);
  return run.warnings.empty() ? "" : run.warnings.front();
}

TEST(RotationCheck, DoesNotDoubtARotationOfAnyKind) {
  for (const char* scaling : {R"({"rope_type": "default"})", R"({"rope_type": "linear", "factor": 8})",
                              R"({"rope_type": "dynamic", "factor": 2, "max_position_embeddings": 4096})",
                              R"({"rope_type": "yarn", "factor": 16, "original_max_position_embeddings": 64})",
                              R"({"rope_type": "llama3", "factor": 32, "low_freq_factor": 1, "high_freq_factor": 4,
            "original_max_position_embeddings": 256})",
                              R"({"rope_type": "longrope", "short_factor": [1, 1.5, 2, 2, 3, 3, 4, 4], "factor": 4,
            "long_factor": [2, 3, 4, 5, 6, 7, 8, 9], "original_max_position_embeddings": 512})"}) {
    const auto model = ModelRotation::of_settings({.theta = 20000, .scaling = scaling});
    const RotatedDump dump(2, 16, 1, [&](int layer) { return model.layer(layer, 16, 1023).rotation; });
    const Checked run = checked(dump, {{"--rope_theta", "20000"}, {"--rope_scaling", scaling}});
    EXPECT_TRUE(run.warnings.empty()) << scaling << ": " << run.warnings.front();
    ASSERT_TRUE(run.result.rotation_shares) << scaling;
    EXPECT_GT(run.result.rotation_shares->dump.configured, 0.4) << scaling;
    const std::string with_rope_none = only_warning(dump, {{"--rope", "none"}});
    expect_parts(with_rope_none, {"`rope_theta: ", "`rope: none`"});
  }
}

TEST(RotationCheck, NamesTheThetaThatFits) {
  const RotatedDump dump(2, 32, 1, [](int) { return rotation_with(30000, 32); });
  EXPECT_TRUE(checked(dump, {{"--rope_theta", "30000"}}).warnings.empty());
  const std::string wrong = only_warning(dump, {{"--rope_theta", "100000"}});
  expect_parts(wrong,
               {"the vectors contradict the rotation", "theta 100000, half, all 32 components", "pass `rope_theta: "});
  const std::size_t at = wrong.rfind("`rope_theta: ") + 13;
  EXPECT_NEAR(std::stod(wrong.substr(at)), 30000, 600) << wrong;
  // The right theta is also found where the layout is wrong.
  const std::string layout = only_warning(dump, {{"--rope_theta", "100000"}, {"--rope_layout", "interleaved"}});
  EXPECT_NEAR(std::stod(layout.substr(layout.rfind("`rope_theta: ") + 13)), 30000, 600) << layout;
  expect_parts(layout, {"`rope_layout: half`"});
}

TEST(RotationCheck, NamesThePartThatIsRotated) {
  const RotatedDump dump(2, 32, 1, [](int) { return rotation_with(10000, 16, RotaryLayout::interleaved, 16); });
  const Flags right{{"--rope_theta", "10000"}, {"--rope_layout", "interleaved"}, {"--rope_first", "16"}};
  EXPECT_TRUE(checked(dump, right).warnings.empty());
  expect_parts(only_warning(dump, {{"--rope_theta", "10000"}}),
               {"`rope_theta: 10000`, `rope_layout: interleaved`, `rope_first: 16`, `rope_dim: 16`"});
}

TEST(RotationCheck, KnowsVectorsCapturedBeforeTheRotation) {
  const RotatedDump dump(2, 16, 1, [](int) { return Rotation{}; });
  write_text(dump.root() / "config.json", R"({"model_type": "llama", "head_dim": 16, "rope_theta": 10000})");
  expect_parts(only_warning(dump, {}), {"captured before the rotation: pass `vectors: pre`", "no rotation"});
  EXPECT_TRUE(checked(dump, {{"--vectors", "pre"}}).warnings.empty());
  EXPECT_TRUE(checked(dump, {{"--rope", "none"}}).warnings.empty());
  expect_parts(only_warning(dump, {{"--rope_theta", "10000"}}), {"pass `rope: none`, or `vectors: pre` if"});
}

TEST(RotationCheck, KnowsVectorsCapturedAfterTheRotation) {
  const RotatedDump dump(2, 16, 1, [](int) { return rotation_with(10000, 16); });
  write_text(dump.root() / "config.json", R"({"model_type": "llama", "head_dim": 16, "rope_theta": 10000})");
  EXPECT_TRUE(checked(dump, {}).warnings.empty());
  expect_parts(only_warning(dump, {{"--vectors", "pre"}}), {"as `vectors: pre` says", "pass `vectors: post`"});
  expect_parts(only_warning(dump, {{"--vectors", "pre"}, {"--rope_theta", "700000"}}),
               {"pass `vectors: post`, `rope_theta: 10000`, `rope_layout: half`"});
}

TEST(RotationCheck, LooksAtEveryLayer) {
  const RotatedDump dump(8, 16, 1, [](int layer) { return layer == 5 ? Rotation{} : rotation_with(10000, 16); });
  write_text(dump.root() / "config.json", R"({"model_type": "llama", "head_dim": 16, "rope_theta": 10000})");
  const std::string warning = only_warning(dump, {});
  expect_parts(warning, {"the vectors of layer 5 contradict the rotation", "with no rotation", "`rope_config`"});
  write_text(dump.root() / "config.json", R"({"model_type": "llama", "head_dim": 16, "rope_theta": 10000,
                                              "no_rope_layers": [1, 1, 1, 1, 1, 0, 1, 1]})");
  EXPECT_TRUE(checked(dump, {}).warnings.empty());
}

TEST(RotationCheck, IsSilentWhereNothingCanBeDecided) {
  const RotatedDump dump(2, 16, 0, [](int) { return rotation_with(10000, 16); });
  for (const char* theta : {"10000", "1000000"}) {
    const Checked run = checked(dump, {{"--rope_theta", theta}});
    EXPECT_TRUE(run.warnings.empty()) << theta;
    ASSERT_TRUE(run.result.rotation_shares);
    EXPECT_LT(run.result.rotation_shares->dump.configured, least_decided_share);
  }
}

TEST(RotationCheck, IsAnErrorOrOffOnRequest) {
  const RotatedDump dump(1, 16, 1, [](int) { return rotation_with(10000, 16); });
  RunConfig config = dump.config({{"--rope", "none"}, {"--rotation_check", "error"}, {"--num_triples", "8"}});
  try {
    run_of(config);
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    expect_parts(error.what(), {"the vectors contradict the rotation", "`rope_theta: 10000`"});
  }
  const Checked off = checked(dump, {{"--rope", "none"}, {"--rotation_check", "off"}});
  EXPECT_TRUE(off.warnings.empty());
  EXPECT_FALSE(off.result.rotation_shares);
  EXPECT_TRUE(checked(dump, {{"--rope_theta", "10000"}, {"--rotation_check", "error"}}).warnings.empty());
}

TEST(RotationCheck, GivesTheSameSharesForAnyNumberOfWorkers) {
  const RotatedDump dump(3, 16, 1, [](int) { return rotation_with(10000, 16); });
  const Flags flags{{"--rope_theta", "40000"}};
  const Checked one = checked(dump, flags, 1);
  const Checked three = checked(dump, flags, 3);
  EXPECT_EQ(one.warnings, three.warnings);
  ASSERT_EQ(one.result.rotation_shares->layers.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const EnergyShares& a = one.result.rotation_shares->layers[i].shares;
    const EnergyShares& b = three.result.rotation_shares->layers[i].shares;
    EXPECT_EQ(a.known, b.known);
    EXPECT_EQ(a.configured, b.configured);
  }
}

TEST(RotationCheck, SkipsFilesThatCannotBeRead) {
  const RotatedDump dump(2, 16, 1, [](int) { return rotation_with(10000, 16); });
  write_text(dump.file(Side::query, 0, 0), "not Parquet");
  dump.remove(Side::key, 1, 0);
  const Checked run = checked(dump, {{"--rope_theta", "10000"}});
  EXPECT_TRUE(run.warnings.empty());
  ASSERT_TRUE(run.result.rotation_shares);
  EXPECT_EQ(run.result.rotation_shares->layers.size(), 1U) << "without its keys, layer 1 is not read";
}

TEST(RotationEvidence, TakesTheFirstFourHeadsOfEachSide) {
  std::vector<RotationFile> files;
  for (int head = 5; head >= 0; --head) {
    files.push_back({Side::key, {0, head}, {}});
    files.push_back({Side::query, {0, head}, {}});
  }
  RotationEvidence evidence(files, [](int, std::size_t) { return std::optional(Rotation{}); }, {});
  EXPECT_TRUE(evidence.empty());
  for (const int head : {4, 5}) evidence.add(Side::query, {0, head}, rotated_rows({}, 4, 1, 1));
  EXPECT_TRUE(evidence.empty()) << "only heads 0 to 3 count";
  evidence.add(Side::key, {0, 3}, rotated_rows({}, 4, 1, 1));
  EXPECT_FALSE(evidence.empty());
  EXPECT_TRUE(evidence.samples({}).empty()) << "theta is refined on the first heads";
  evidence.add(Side::key, {0, 0}, rotated_rows({}, 4, 1, 1));
  EXPECT_EQ(evidence.samples({}).size(), 1U);
  EXPECT_EQ(evidence.shares().width, 4U);
}

// One layer has as many samples as eight layers would have, as far as its first heads go.
TEST(RotationEvidence, KeepsMoreSamplesOfFewLayersToFindARotation) {
  std::vector<RotationFile> files;
  for (int head = 0; head < 6; ++head) files.push_back({Side::query, {0, head}, {}});
  RotationEvidence evidence(files, {}, {});
  for (int head = 0; head < 6; ++head) evidence.add(Side::query, {0, head}, rotated_rows({}, 4, 1, 1));
  EXPECT_EQ(evidence.samples({}).size(), 4U);
}

}  // namespace
}  // namespace attention_plasticity

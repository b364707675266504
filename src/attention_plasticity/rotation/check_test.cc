#include "attention_plasticity/rotation/check.h"

#include <gtest/gtest.h>

#include "attention_plasticity/base/text_testing.h"
#include "attention_plasticity/rotation/inference.h"
#include "attention_plasticity/rotation/rotated_rows_testing.h"
#include "attention_plasticity/rotation/rotation_json.h"

namespace attention_plasticity {
namespace {

constexpr const char* llama = R"({"model_type": "llama", "head_dim": 16, "rope_theta": 10000})";

// A run that is told how its vectors are rotated.
struct Stated {
  DumpRotation rotation;
  Vectors vectors = Vectors::post;
  Rope rope = Rope::automatic;
};

Stated stated(const StatedRotation& rotation, Vectors vectors = Vectors::post) {
  return {find_rotation(rotation, [] { return 1023.0; }).value(), vectors,
          rotation.is_none ? Rope::none : Rope::automatic};
}
Stated by_settings(const RotarySettings& settings, Vectors vectors = Vectors::post) {
  return stated({.settings = settings}, vectors);
}
Stated by_config(const char* text, Vectors vectors = Vectors::post) {
  const std::vector<ModelConfigText> found{{"config.json", text}};
  return stated({.found = found}, vectors);
}

RotationEvidence measured(RotationChecker& checker, RotatedHeads& heads) {
  RotationEvidence evidence;
  for (const HeadSide& head : heads.heads()) {
    heads.rows()(head, [&](const RowsView& rows) {
      if (const auto own = checker.measure(head, rows)) evidence[head] = *own;
    });
  }
  return evidence;
}

RotationVerdict verdict(RotatedHeads& heads, Stated run) {
  run.rotation.refined = refined_candidates(run.rotation, run.vectors, judged_heads(heads.heads()), heads.rows());
  RotationChecker checker(run.rotation, run.vectors, run.rope, heads.heads());
  return checker.verdict(measured(checker, heads));
}

std::string complaint(RotatedHeads& heads, const Stated& run) { return verdict(heads, run).complaint; }

double named_theta(const std::string& complaint) {
  const std::size_t at = complaint.rfind("`rope_theta: ");
  return at == std::string::npos ? 0 : std::stod(complaint.substr(at + 13));
}

TEST(RotationChecker, DoesNotDoubtARotationOfAnyKind) {
  for (const char* scaling : {R"({"rope_type": "default"})", R"({"rope_type": "linear", "factor": 8})",
                              R"({"rope_type": "dynamic", "factor": 2, "max_position_embeddings": 4096})",
                              R"({"rope_type": "yarn", "factor": 16, "original_max_position_embeddings": 64})",
                              R"({"rope_type": "llama3", "factor": 32, "low_freq_factor": 1, "high_freq_factor": 4,
            "original_max_position_embeddings": 256})",
                              R"({"rope_type": "longrope", "short_factor": [1, 1.5, 2, 2, 3, 3, 4, 4], "factor": 4,
            "long_factor": [2, 3, 4, 5, 6, 7, 8, 9], "original_max_position_embeddings": 512})"}) {
    const RotarySettings settings{.theta = 20000, .scaling = scaling};
    const auto model = ModelRotation::of_settings(settings);
    RotatedHeads heads(2, 16, 1, [&](int layer) { return model.layer(layer, 16, 1023).rotation; });
    const RotationVerdict right = verdict(heads, by_settings(settings));
    EXPECT_EQ(right.complaint, "") << scaling;
    ASSERT_TRUE(right.shares) << scaling;
    EXPECT_GT(right.shares->dump.configured, 0.4) << scaling;
    expect_parts(complaint(heads, stated({.is_none = true})), {"`rope_theta: ", "in place of `rope: none`"});
  }
}

TEST(RotationChecker, NamesTheThetaThatFits) {
  RotatedHeads heads(2, 32, 1, [](int) { return rotation_with(30000, 32); });
  EXPECT_EQ(complaint(heads, by_settings({.theta = 30000})), "");
  const std::string wrong = complaint(heads, by_settings({.theta = 100000}));
  expect_parts(wrong,
               {"the vectors contradict the rotation", "theta 100000, half, all 32 components", "pass `rope_theta: "});
  EXPECT_NEAR(named_theta(wrong), 30000, 600) << wrong;
  // Where the layout is wrong, the best common theta is named; theta is refined when the layout is right.
  const std::string layout = complaint(heads, by_settings({.theta = 100000, .layout = RotaryLayout::interleaved}));
  EXPECT_EQ(named_theta(layout), 100000) << layout;
  expect_parts(layout, {"`rope_layout: half`"});
}

TEST(RotationChecker, NamesThePartThatIsRotated) {
  RotatedHeads heads(2, 32, 1, [](int) { return rotation_with(10000, 16, RotaryLayout::interleaved, 16); });
  EXPECT_EQ(complaint(heads, by_settings({.theta = 10000, .layout = RotaryLayout::interleaved, .first = 16})), "");
  expect_parts(complaint(heads, by_settings({.theta = 10000})),
               {"`rope_theta: 10000`, `rope_layout: interleaved`, `rope_first: 16`, `rope_dim: 16`"});
}

TEST(RotationChecker, RecognizesVectorsCapturedBeforeTheRotation) {
  RotatedHeads heads(2, 16, 1, [](int) { return Rotation{}; });
  expect_parts(complaint(heads, by_config(llama)),
               {"captured before the rotation: pass `vectors: pre`", "no rotation"});
  EXPECT_EQ(complaint(heads, by_config(llama, Vectors::pre)), "");
  EXPECT_EQ(complaint(heads, stated({.is_none = true})), "");
  expect_parts(complaint(heads, by_settings({.theta = 10000})), {"pass `rope: none`, or `vectors: pre` if"});
}

TEST(RotationChecker, RecognizesVectorsCapturedAfterTheRotation) {
  RotatedHeads heads(2, 16, 1, [](int) { return rotation_with(10000, 16); });
  EXPECT_EQ(complaint(heads, by_config(llama)), "");
  expect_parts(complaint(heads, by_config(llama, Vectors::pre)), {"as `vectors: pre` says", "pass `vectors: post`"});
  expect_parts(complaint(heads, by_settings({.theta = 700000}, Vectors::pre)),
               {"pass `vectors: post`, `rope_theta: 10000`, `rope_layout: half`"});
}

TEST(RotationChecker, LooksAtEveryLayer) {
  RotatedHeads heads(8, 16, 1, [](int layer) { return layer == 5 ? Rotation{} : rotation_with(10000, 16); });
  expect_parts(complaint(heads, by_config(llama)),
               {"the vectors of layer 5 contradict the rotation", "with no rotation", "`rope_config`"});
  EXPECT_EQ(complaint(heads, by_config(R"({"model_type": "llama", "head_dim": 16, "rope_theta": 10000,
                                           "no_rope_layers": [1, 1, 1, 1, 1, 0, 1, 1]})")),
            "");
}

TEST(RotationChecker, IsSilentWhereNothingCanBeDecided) {
  RotatedHeads heads(2, 16, 0, [](int) { return rotation_with(10000, 16); });
  for (const double theta : {1e4, 1e6}) {
    const RotationVerdict run = verdict(heads, by_settings({.theta = theta}));
    EXPECT_EQ(run.complaint, "") << theta;
    EXPECT_LT(run.shares.value().dump.configured, least_decided_share);
  }
  EXPECT_FALSE(RotationChecker(by_config(llama).rotation, Vectors::post, Rope::automatic, {}).verdict({}).shares);
}

TEST(RotationChecker, MeasuresOnlyHeadsThatAreJudged) {
  std::vector<HeadSide> heads;
  for (int head = 0; head < 6; ++head) heads.push_back({Side::key, {0, head}});
  RotationChecker checker(by_config(llama).rotation, Vectors::post, Rope::automatic, heads);
  const HeadRows rows = rotated_rows({}, 16, 1, 1);
  EXPECT_TRUE(checker.measure({Side::key, {0, 3}}, rows));
  EXPECT_FALSE(checker.measure({Side::key, {0, 4}}, rows));
  EXPECT_FALSE(checker.measure({Side::query, {0, 0}}, rows));
  EXPECT_FALSE(checker.measure({Side::key, {0, 0}}, rotated_rows({}, 16, 1, 1, 1))) << "one row says nothing";
  const FileEvidence evidence = checker.measure({Side::key, {0, 0}}, rows).value();
  EXPECT_FALSE(checker.verdict({{{Side::key, {0, 5}}, evidence}}).shares) << "not one that is judged";
}

TEST(RefinedCandidates, AreTheConfiguredLayoutAndComponentsWithAnotherTheta) {
  RotatedHeads heads(2, 32, 1, [](int) { return rotation_with(30000, 16, RotaryLayout::interleaved, 16); });
  const auto refined = [&](const Stated& run) {
    return refined_candidates(run.rotation, run.vectors, judged_heads(heads.heads()), heads.rows());
  };
  const RotarySettings settings{.theta = 1e6, .layout = RotaryLayout::interleaved, .first = 16};
  const std::vector<RotationCandidate> found = refined(by_settings(settings));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].shape, (RotationShape{RotaryLayout::interleaved, ComponentRange{16, 16}}));
  EXPECT_NEAR(found[0].theta / 30000, 1, 0.02);
  EXPECT_TRUE(refined(by_settings(settings, Vectors::pre)).empty()) << "R = I has no theta";
  EXPECT_TRUE(refined(stated({.is_none = true})).empty());
  RotatedHeads common(2, 32, 1, [](int) { return rotation_with(10000, 32); });
  const Stated run = by_settings({.theta = 500});
  EXPECT_TRUE(refined_candidates(run.rotation, run.vectors, judged_heads(common.heads()), common.rows()).empty())
      << "theta 10000 is tried anyway";
}

TEST(RefinedCandidates, LeaveOutHeadsThatCannotBeRead) {
  RotatedHeads heads(2, 32, 1, [](int) { return rotation_with(30000, 32); });
  heads.damage({Side::query, {0, 0}});
  const Stated run = by_settings({.theta = 100000});
  EXPECT_EQ(refined_candidates(run.rotation, run.vectors, judged_heads(heads.heads()), heads.rows()).size(), 1U);
  for (const HeadSide& head : heads.heads()) heads.damage(head);
  EXPECT_TRUE(refined_candidates(run.rotation, run.vectors, judged_heads(heads.heads()), heads.rows()).empty());
}

// The check reads the heads on which theta is refined, and nothing else: evidence comes from rows that are read to be
// measured.
TEST(RefinedCandidates, ReadNoHeadTwice) {
  RotatedHeads heads(10, 16, 1, [](int) { return rotation_with(30000, 16); });
  for (const Stated& run :
       {by_settings({.theta = 100000}), by_settings({.theta = 1e5, .layout = RotaryLayout::interleaved}),
        by_config(llama, Vectors::pre), stated({.is_none = true})}) {
    heads.reads.clear();
    const std::vector<HeadSide> judged = judged_heads(heads.heads());
    DumpRotation rotation = run.rotation;
    rotation.refined = refined_candidates(rotation, run.vectors, judged, heads.rows());
    EXPECT_LE(heads.reads.size(), 16U);
    for (const auto& [head, count] : heads.reads) EXPECT_EQ(count, 1);
    heads.reads.clear();
    RotationChecker checker(rotation, run.vectors, run.rope, heads.heads());
    const RotationEvidence evidence = measured(checker, heads);
    for (const auto& [head, count] : heads.reads) EXPECT_EQ(count, 1);
    const auto before = heads.reads;
    EXPECT_NE(checker.verdict(evidence).complaint, "");
    EXPECT_EQ(heads.reads, before) << "a verdict reads nothing";
  }
}

// Two processes prepare the run by themselves, or one takes it from the other, and each measures half of the heads.
TEST(RotationVerdict, FromTwoHalvesIsThatOfOneProcess) {
  RotatedHeads heads(3, 16, 1, [](int layer) {
    return layer == 1 ? rotation_with(30000, 14, RotaryLayout::half, 2) : rotation_with(30000, 16);
  });
  for (const Stated& run :
       {by_settings({.theta = 40000}), by_settings({.theta = 40000}, Vectors::pre),
        by_settings({.theta = 1e5, .layout = RotaryLayout::interleaved}), stated({.is_none = true})}) {
    const RotationVerdict one = verdict(heads, run);
    DumpRotation planned = run.rotation;
    planned.refined = refined_candidates(planned, run.vectors, judged_heads(heads.heads()), heads.rows());
    const std::string text = json_text(rotation_record({planned, {}}));
    const DumpRotation taken = read_rotation_record(nlohmann::json::parse(text), "a shard").rotation.value();
    EXPECT_EQ(taken.refined, planned.refined) << "to the last bit";
    RotationChecker first(planned, run.vectors, run.rope, heads.heads());
    RotationChecker second(taken, run.vectors, run.rope, heads.heads());
    RotationEvidence all;
    for (const HeadSide& head : heads.heads()) {
      RotationChecker& own = head.head.layer == 0 || head.side == Side::key ? first : second;
      all[head] = own.measure(head, heads.of(head)).value();
    }
    const RotationVerdict two = second.verdict(all);
    EXPECT_EQ(two.complaint, one.complaint);
    EXPECT_NE(two.complaint, "");
    EXPECT_EQ(two.shares->dump.common, one.shares->dump.common);
    EXPECT_EQ(two.shares->dump.further, one.shares->dump.further);
    EXPECT_EQ(two.shares->dump.configured, one.shares->dump.configured);
  }
}

TEST(RotationVerdict, IsNotReachedFromEvidenceOfOtherCandidates) {
  RotatedHeads heads(2, 16, 1, [](int) { return rotation_with(30000, 16); });
  Stated run = by_settings({.theta = 40000});
  run.rotation.refined.emplace();
  RotationChecker unrefined(run.rotation, run.vectors, run.rope, heads.heads());
  const RotationEvidence evidence = measured(unrefined, heads);
  run.rotation.refined = refined_candidates(run.rotation, run.vectors, judged_heads(heads.heads()), heads.rows());
  ASSERT_EQ(run.rotation.refined->size(), 1U);
  const RotationChecker checker(run.rotation, run.vectors, run.rope, heads.heads());
  EXPECT_THROW(checker.verdict(evidence), Error);
}

TEST(ReportComplaint, WarnsOrThrows) {
  std::vector<std::string> warnings;
  const auto warn = [&](const std::string& line) { warnings.push_back(line); };
  report_complaint({{}, ""}, RotationCheck::error, warn);
  report_complaint({{}, "wrong"}, RotationCheck::warn, warn);
  EXPECT_EQ(warnings, std::vector<std::string>{"wrong"});
  try {
    report_complaint({{}, "wrong"}, RotationCheck::error, warn);
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
  }
}

}  // namespace
}  // namespace attention_plasticity

#include "attention_plasticity/rotation/evidence.h"

#include <gtest/gtest.h>

#include <cmath>

#include "attention_plasticity/rotation/rotated_rows_testing.h"

namespace attention_plasticity {
namespace {

std::vector<HeadSide> many_heads(int layers, int heads) {
  std::vector<HeadSide> all;
  for (int layer = layers - 1; layer >= 0; --layer) {
    for (int head = heads - 1; head >= 0; --head) {
      all.push_back({Side::key, {layer, head}});
      all.push_back({Side::query, {layer, head}});
      all.push_back({Side::query, {layer, head}});
    }
  }
  return all;
}

TEST(JudgedHeads, AreTheFirstFourOfEachSideInOrder) {
  const std::vector<HeadSide> judged = judged_heads(many_heads(2, 6));
  ASSERT_EQ(judged.size(), 16U);
  for (std::size_t i = 0; i < judged.size(); ++i) {
    const int layer = static_cast<int>(i / 8);
    const Side side = i % 8 < 4 ? Side::query : Side::key;
    EXPECT_EQ(judged[i], (HeadSide{side, {layer, static_cast<int>(i % 4)}}));
  }
}

TEST(HeadsForCheck, AreTheFirstOfEachSideInEightLayersSpreadEvenly) {
  const std::vector<HeadSide> heads = heads_for_check(judged_heads(many_heads(30, 3)));
  ASSERT_EQ(heads.size(), 16U);
  const std::vector<int> layers{0, 3, 7, 11, 15, 18, 22, 26};
  for (std::size_t i = 0; i < heads.size(); ++i) {
    EXPECT_EQ(heads[i], (HeadSide{i % 2 == 0 ? Side::query : Side::key, {layers[i / 2], 0}}));
  }
  EXPECT_EQ(heads_for_check(judged_heads(many_heads(1, 3))).size(), 2U);
  EXPECT_TRUE(heads_for_check({}).empty());
}

// One layer has as many samples as eight layers would have, as far as its first heads go.
TEST(HeadsForInference, AreMoreWhereThereAreFewLayers) {
  EXPECT_EQ(heads_for_inference(judged_heads(many_heads(1, 6))).size(), 8U);
  EXPECT_EQ(heads_for_inference(judged_heads(many_heads(3, 6))).size(), 12U);
  EXPECT_EQ(heads_for_inference(judged_heads(many_heads(8, 6))).size(), 16U);
  EXPECT_EQ(heads_for_inference(judged_heads(many_heads(30, 6))).size(), 16U);
  EXPECT_TRUE(heads_for_inference({}).empty());
}

TEST(ForEachReadable, SkipsHeadsThatCannotBeReadAndNoOtherErrors) {
  RotatedHeads heads(1, 4, 1, [](int) { return Rotation{}; });
  heads.damage({Side::query, {0, 1}});
  std::vector<HeadSide> seen;
  const auto note = [&](const HeadSide& head, const RowsView&) { seen.push_back(head); };
  for_each_readable(heads.heads(), heads.rows(), note);
  EXPECT_EQ(seen, (std::vector<HeadSide>{{Side::query, {0, 0}}, {Side::key, {0, 0}}}));
  const HeadRows one_row = rotated_rows({}, 4, 1, 1, 1);
  for_each_readable({{Side::query, {7, 7}}}, [&](const HeadSide&, const auto& use) { use(one_row); }, note);
  EXPECT_EQ(seen.size(), 2U) << "one row says nothing";
  const RotationRows offline = [](const HeadSide&, const auto&) { throw Error(ErrorKind::network, "offline"); };
  EXPECT_THROW(for_each_readable(heads.heads(), offline, note), Error);
}

TEST(EvidenceMeter, MeasuresEveryCandidate) {
  const Rotation rotation = rotation_with(1e5, 16);
  const RotationCandidate refined{RotationShape{RotaryLayout::half, ComponentRange{0, 16}}, 1e5};
  const RotationCandidate too_wide{RotationShape{RotaryLayout::half, ComponentRange{0, 32}}, 1e5};
  EvidenceMeter meter([&](int, std::size_t) { return std::optional(rotation); },
                      {in_every_layer(refined), in_every_layer(too_wide)});
  const FileEvidence evidence = meter.measure(0, rotated_rows(rotation, 16, 1, 1));
  EXPECT_EQ(evidence.width, 16U);
  EXPECT_EQ(evidence.fixed.common.size(), 41U);
  ASSERT_EQ(evidence.fixed.further.size(), 2U);
  EXPECT_NEAR(evidence.fixed.configured, evidence.fixed.further[0], 1e-12);
  EXPECT_TRUE(std::isnan(evidence.fixed.further[1])) << "a range beyond the width";
  EXPECT_GT(evidence.fixed.configured, evidence.fixed.common[0]);
}

TEST(EvidenceMeter, DoesNotKnowALayerThatTheRotationRefuses) {
  EvidenceMeter meter([](int, std::size_t) -> std::optional<Rotation> { throw Error(ErrorKind::usage, "no"); }, {});
  EXPECT_TRUE(std::isnan(meter.measure(0, rotated_rows({}, 16, 1, 1)).fixed.configured));
}

TEST(SharesOf, SumsOverLayersAndTheDump) {
  const auto evidence = [](double energy, double fixed) {
    return FileEvidence{4, energy, {std::vector<double>(41, fixed), fixed, {}}};
  };
  const std::optional<RotationShares> shares = shares_of({{{Side::query, {0, 0}}, evidence(2, 1)},
                                                          {{Side::key, {0, 0}}, evidence(6, 1)},
                                                          {{Side::key, {3, 0}}, evidence(2, 2)}},
                                                         0);
  ASSERT_TRUE(shares);
  EXPECT_EQ(shares->width, 4U);
  EXPECT_EQ(shares->dump.configured, 0.4);
  ASSERT_EQ(shares->layers.size(), 2U);
  EXPECT_EQ(shares->layers[0].shares.common[7], 0.25);
  EXPECT_EQ(shares->layers[1].layer, 3);
  EXPECT_EQ(shares->layers[1].shares.configured, 1);
  EXPECT_FALSE(shares_of({}, 0));
}

// A saved head may come from anywhere.
TEST(SharesOf, RefusesEvidenceOfOtherCandidates) {
  const FileEvidence whole{4, 1, {std::vector<double>(41, 0.5), 0.5, {0.5}}};
  const HeadSide head{Side::query, {0, 0}};
  EXPECT_TRUE(shares_of({{head, whole}}, 1));
  std::vector<FileEvidence> wrong(5, whole);
  wrong[0].fixed.common.pop_back();
  wrong[1].fixed.further.clear();
  wrong[2].fixed.further.push_back(1);
  wrong[3].energy = -1;
  wrong[4].width = 0;
  for (const FileEvidence& evidence : wrong) {
    try {
      shares_of({{{Side::key, {1, 2}}, whole}, {head, evidence}}, 1);
      FAIL() << "it was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      EXPECT_EQ(std::string(error.what()),
                "layer 0 q_head 0: the saved evidence for the rotation is not of this run's candidates; measure this "
                "head again");
    }
  }
}

}  // namespace
}  // namespace attention_plasticity

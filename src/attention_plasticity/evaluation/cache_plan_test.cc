#include "attention_plasticity/evaluation/cache_plan.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <cmath>

#include "attention_plasticity/base/refusal_testing.h"
#include "places.h"

namespace attention_plasticity {
namespace {

CachePlanOptions keeping(double share) {
  CachePlanOptions options;
  options.keep = share;
  return options;
}

CachePlanOptions above(double threshold) {
  CachePlanOptions options;
  options.threshold = threshold;
  return options;
}

// Two layers of four query heads and two KV heads: scores by KV head (max) 0.4, 0.6 and 0.9, 0.4.
HeadMetrics metrics() {
  return HeadMetrics(
      parse_csv("layer,q_head,k_head,ap_exact\n"
                "0,0,0,0.1\n0,1,0,0.4\n0,2,1,0.6\n0,3,1,0.5\n"
                "1,0,0,0.9\n1,1,0,0.0\n1,2,1,0.4\n1,3,1,0.4\n",
                "m.csv"));
}

RunDescription model() { return {"m", 2, 4, 2, {}}; }

std::string kinds(const CachePlan& plan) {
  std::string text;
  for (const PlannedHead& head : plan.heads) text += "fws"[static_cast<std::size_t>(head.kind)];
  return text;
}

TEST(CachePlan, KeepsTheHighestScoresFirst) {
  EXPECT_EQ(kinds(plan_cache(metrics(), {}, keeping(0))), "wwww");
  EXPECT_EQ(kinds(plan_cache(metrics(), {}, keeping(0.25))), "wwfw");
  EXPECT_EQ(kinds(plan_cache(metrics(), {}, keeping(0.5))), "wffw");
  EXPECT_EQ(kinds(plan_cache(metrics(), {}, keeping(1))), "ffff");
}

TEST(CachePlan, BreaksTiesByLayerAndHead) { EXPECT_EQ(kinds(plan_cache(metrics(), {}, keeping(0.75))), "fffw"); }

TEST(CachePlan, RoundsTheShareToTheNearestHeadAndHalvesUp) {
  EXPECT_EQ(plan_cache(metrics(), {}, keeping(0.124)).count(CacheKind::full), 0U);
  EXPECT_EQ(plan_cache(metrics(), {}, keeping(0.125)).count(CacheKind::full), 1U);
  EXPECT_EQ(plan_cache(metrics(), {}, keeping(0.374)).count(CacheKind::full), 1U);
  std::vector<QueryHeadScore> hundred;
  for (int i = 0; i < 100; ++i) hundred.push_back({i, 0, 0.5});
  // 0.285 * 100 is 28.499999999999996 in doubles.
  EXPECT_EQ(plan_cache({"", 100, 1, 1, {}}, hundred, keeping(0.285), "").count(CacheKind::full), 29U);
}

TEST(CachePlan, KeepsWhatReachesTheThreshold) {
  EXPECT_EQ(kinds(plan_cache(metrics(), {}, above(0.4))), "ffff");
  EXPECT_EQ(kinds(plan_cache(metrics(), {}, above(0.41))), "wffw");
  EXPECT_EQ(kinds(plan_cache(metrics(), {}, above(2))), "wwww");
}

TEST(CachePlan, ScoresAKvHeadByItsQueryHeads) {
  const CachePlan largest = plan_cache(metrics(), {}, keeping(1));
  EXPECT_EQ(largest.head(0, 0).score, 0.4);
  EXPECT_EQ(largest.head(1, 0).score, 0.9);
  CachePlanOptions options = keeping(1);
  options.group = GroupScore::mean;
  const CachePlan mean = plan_cache(metrics(), {}, options);
  EXPECT_EQ(mean.head(0, 0).score, 0.25);
  EXPECT_EQ(mean.head(1, 0).score, 0.45);
}

// KV heads by max: near 1, 2 and 3, 4; far 8, 2 and 4, 6; the label reach 30, 10 and 20, 20.
HeadMetrics two_measures() {
  return HeadMetrics(parse_csv("layer,q_head,k_head,near,far\n0,0,0,1,8\n0,1,1,2,2\n1,0,0,3,4\n1,1,1,4,6\n", "m.csv"));
}

HeadLabels reach() { return parse_head_labels("layer,q_head,reach\n0,0,30\n0,1,10\n1,0,20\n1,1,20\n", "l.csv"); }

CachePlanOptions scored_by(const std::string& column) {
  CachePlanOptions options = keeping(0.5);
  options.column = column;
  return options;
}

std::vector<double> scores_by(const std::string& column, const HeadLabels* labels = nullptr) {
  std::vector<double> scores;
  for (const PlannedHead& head : plan_cache(two_measures(), {}, scored_by(column), labels).heads) {
    scores.push_back(head.score);
  }
  return scores;
}

TEST(CachePlan, ScoresByOneColumnOfMetricsOrLabels) {
  const HeadLabels labels = reach();
  EXPECT_EQ(scores_by("far"), (std::vector<double>{8, 2, 4, 6}));
  EXPECT_EQ(scores_by("reach", &labels), (std::vector<double>{30, 10, 20, 20}));
  EXPECT_EQ(scores_by("-near"), (std::vector<double>{-1, -2, -3, -4}));
  EXPECT_EQ(kinds(plan_cache(two_measures(), {}, scored_by("-near"))), "ffww");
}

TEST(CachePlan, ScoresBySeveralColumnsWithTheirMeanRank) {
  const HeadLabels labels = reach();
  // Ranks by near 1 2 3 4 and by far 4 1 2 3, from 0 to 1: 0 1/3 2/3 1 and 1 0 1/3 2/3.
  const std::vector<double> both = scores_by("near,far");
  EXPECT_DOUBLE_EQ(both[0], 0.5);
  EXPECT_DOUBLE_EQ(both[1], 1.0 / 6);
  EXPECT_DOUBLE_EQ(both[2], 0.5);
  EXPECT_DOUBLE_EQ(both[3], 5.0 / 6);
  // Equal values share their rank: 3, 0, 1.5, 1.5 thirds.
  const std::vector<double> labelled = scores_by(" near , reach ", &labels);
  EXPECT_DOUBLE_EQ(labelled[0], 0.5);
  EXPECT_DOUBLE_EQ(labelled[2], (2.0 / 3 + 0.5) / 2);
  EXPECT_EQ(scores_by("near,-near"), std::vector<double>(4, 0.5));
  EXPECT_EQ(plan_cache(two_measures(), {}, scored_by("near,far")).column, "near,far");
}

TEST(CachePlan, RanksOnlyHeadsThatHaveEveryColumn) {
  const HeadMetrics metrics(
      parse_csv("layer,q_head,k_head,near,far\n0,0,0,1,8\n0,1,1,2,\n1,0,0,3,4\n1,1,1,4,6\n", "m.csv"));
  CachePlanOptions options = scored_by("near,far");
  EXPECT_EQ(refusal([&] { plan_cache(metrics, {}, options); }),
            "input: m.csv: 1 of 4 KV heads have query heads without near,far: layer 0 kv_head 1; analyse all heads, or "
            "pass `missing: full` to leave these full");
  options.keep_missing = true;
  const CachePlan plan = plan_cache(metrics, {}, options);
  EXPECT_TRUE(std::isnan(plan.head(0, 1).score));
  EXPECT_DOUBLE_EQ(plan.head(0, 0).score, 0.5);   // ranks 1 and 3 of 3
  EXPECT_DOUBLE_EQ(plan.head(1, 0).score, 0.25);  // ranks 2 and 1
  EXPECT_DOUBLE_EQ(plan.head(1, 1).score, 0.75);  // ranks 3 and 2
}

TEST(CachePlan, RefusesColumnsThatNobodyHasOrBothHave) {
  const HeadLabels labels = reach();
  const HeadLabels twin = parse_head_labels("layer,q_head,near\n0,0,3\n", "l.csv");
  EXPECT_EQ(refusal([&] { scores_by("raech", &labels); }),
            "usage: neither m.csv nor l.csv has a column 'raech'; did you mean reach?");
  EXPECT_EQ(refusal([&] { scores_by("raech"); }), "usage: m.csv has no column 'raech'");
  EXPECT_EQ(refusal([&] { scores_by("near", &twin); }),
            "usage: `column`: both m.csv and l.csv have near; rename it in one of them");
  EXPECT_EQ(refusal([&] { scores_by("near,,far"); }),
            "usage: `column`: 'near,,far' has an empty name; write one or several columns, separated by commas");
}

TEST(CachePlan, LeavesSlidingLayersAsTheyAre) {
  RunDescription run = model();
  run.windows[1] = 512;
  const CachePlan plan = plan_cache(metrics(), run, keeping(0.5));
  EXPECT_EQ(kinds(plan), "wfss");
  EXPECT_EQ(plan.head(1, 0).window, 512);
  EXPECT_TRUE(std::isnan(plan.head(1, 0).score));
  EXPECT_EQ(plan.head(0, 0).window, 64);
  EXPECT_EQ(plan.head(0, 1).window, 0);
  EXPECT_EQ(plan.model, "m");
}

HeadMetrics partial() {
  return HeadMetrics(
      parse_csv("layer,q_head,k_head,ap_exact\n0,0,0,0.1\n0,1,0,0.4\n0,2,1,0.6\n0,3,1,\n1,3,1,0.4\n", "m.csv"));
}

TEST(CachePlan, RefusesHeadsWithoutAScoreUnlessTheyMayStayFull) {
  EXPECT_EQ(refusal([] { plan_cache(partial(), model(), keeping(0.5)); }),
            "input: m.csv: 3 of 4 KV heads have query heads without ap_exact: layer 0 kv_head 1, layer 1 kv_head 0, "
            "layer 1 kv_head 1; analyse all heads, or pass `missing: full` to leave these full");
  CachePlanOptions options = keeping(0);
  options.keep_missing = true;
  const CachePlan plan = plan_cache(partial(), model(), options);
  EXPECT_EQ(kinds(plan), "wfff");
  EXPECT_TRUE(std::isnan(plan.head(0, 1).score));
  options = above(5);
  options.keep_missing = true;
  EXPECT_EQ(kinds(plan_cache(partial(), model(), options)), "wfff");
}

TEST(CachePlan, CutsALongListOfMissingHeads) {
  RunDescription large = model();
  large.num_layers = 30;
  const std::string message = refusal([&] { plan_cache(metrics(), large, keeping(0.5)); });
  EXPECT_NE(message.find("56 of 60 KV heads have query heads without ap_exact: layer 2 kv_head 0, layer 2 kv_head 1, "
                         "layer 3 kv_head 0, ...;"),
            std::string::npos)
      << message;
}

TEST(CachePlan, NeedsNoScoresInSlidingLayers) {
  RunDescription run = model();
  run.windows = {{0, 128}, {1, 128}};
  EXPECT_EQ(kinds(plan_cache(partial(), run, keeping(0.5))), "ssss");
}

TEST(CachePlan, RefusesMetricsOfAnotherModel) {
  RunDescription run = model();
  run.num_layers = 1;
  EXPECT_EQ(refusal([&] { plan_cache(metrics(), run, keeping(1)); }),
            "input: m.csv: layer 1, q_head 0 lies outside the model: 1 layers of 4 query heads");
  run = model();
  run.num_k_heads = 4;
  EXPECT_TRUE(refusal([&] { plan_cache(metrics(), run, keeping(1)); })
                  .starts_with("input: m.csv: layer 0: q_head 1 reads k_head 0, but with 4 query heads and 4 key heads "
                               "it should read 1"));
  const HeadMetrics part(parse_csv("layer,q_head,k_head,ap_exact\n0,6,2,1\n", "m.csv"));
  EXPECT_TRUE(
      refusal([&] {
        plan_cache(part, {}, keeping(1));
      }).starts_with("input: m.csv: holds only a part of the heads: 7 query heads are not a multiple of 3 key"));
  run = model();
  run.num_q_heads = 0;
  EXPECT_EQ(refusal([&] { plan_cache(metrics(), run, keeping(1)); }),
            "input: m.csv: 0 query heads are not a multiple of 2 KV heads");
  const HeadMetrics huge(parse_csv("layer,q_head,k_head,ap_exact\n9999,9999,9999,1\n", "m.csv"));
  EXPECT_TRUE(refusal([&] { plan_cache(huge, {}, keeping(1)); }).ends_with("are more than any model has"));
}

TEST(CachePlan, RefusesOptionsOutOfRange) {
  const auto refused = [](const CachePlanOptions& options) { return refusal([&] { check(options); }); };
  CachePlanOptions both = keeping(0.5);
  both.threshold = 1;
  EXPECT_TRUE(refused(both).starts_with("usage: a plan needs one of `keep`"));
  EXPECT_TRUE(refused({}).starts_with("usage: a plan needs one of `keep`"));
  for (const double share : {-0.1, 1.1, std::nan("")}) {
    EXPECT_EQ(refused(keeping(share)), "usage: `keep`: should be a share from 0 to 1");
  }
  CachePlanOptions options = keeping(0.5);
  options.window = 0;
  EXPECT_TRUE(refused(options).starts_with("usage: `window`"));
  options = keeping(0.5);
  options.sinks = -1;
  EXPECT_TRUE(refused(options).starts_with("usage: `sinks`"));
}

TEST(CachePlan, SaysWhatAMissingColumnNeeds) {
  const HeadMetrics without(parse_csv("layer,q_head,k_head,ap_overall\n0,0,0,1\n", "m.csv"));
  EXPECT_EQ(refusal([&] { plan_cache(without, {}, keeping(1)); }),
            "input: m.csv: has no ap_exact, which is measured only when the model's rotation is known; choose another "
            "column with `column`");
  CachePlanOptions options = keeping(1);
  options.column = "ap_overal";
  EXPECT_EQ(refusal([&] { plan_cache(without, {}, options); }),
            "usage: m.csv has no column 'ap_overal'; did you mean ap_overall?");
}

TEST(CachePlan, WindowsHalfOfTheHeadsOfARealModel) {
  const CachePlan plan =
      plan_cache(read_head_metrics(ResultFiles(source_folder() / "tests/golden/minidoc-qwen3/exact/head_exact.csv")),
                 {}, keeping(0.5));
  EXPECT_EQ(plan.num_layers, 10);
  EXPECT_EQ(plan.num_q_heads, 6);
  EXPECT_EQ(plan.num_kv_heads, 2);
  EXPECT_EQ(plan.count(CacheKind::full), 10U);
  EXPECT_EQ(plan.count(CacheKind::window), 10U);
  double least_full = 1;
  double most_windowed = 0;
  for (const PlannedHead& head : plan.heads) {
    if (head.kind == CacheKind::full) least_full = std::min(least_full, head.score);
    if (head.kind == CacheKind::window) most_windowed = std::max(most_windowed, head.score);
  }
  EXPECT_GE(least_full, most_windowed);
}

TEST(CacheSaved, CountsTokensOfEachKind) {
  RunDescription run = model();
  run.windows[1] = 512;
  // In layer 0 one head keeps T tokens and one keeps 68; layer 1 keeps two windows of 512 as before.
  const CachePlan plan = plan_cache(metrics(), run, keeping(0.5));
  EXPECT_DOUBLE_EQ(cache_saved(plan, 4096), 1 - (4096.0 + 68 + 2 * 512) / (2 * 4096.0 + 2 * 512));
  EXPECT_DOUBLE_EQ(cache_saved(plan, 100), 1 - (100.0 + 68 + 200) / 400);
  EXPECT_EQ(cache_saved(plan, 50), 0.0);
  EXPECT_EQ(cache_saved(plan_cache(metrics(), run, keeping(1)), 4096), 0.0);
  EXPECT_DOUBLE_EQ(cache_saved(plan_cache(metrics(), {}, keeping(0)), 131072), 1 - 68.0 / 131072);
}

RC_GTEST_PROP(CachePlan, KeepsMoreOfAHigherShareAndNeverALowerScoreFirst, (const std::vector<std::uint8_t>& numbers)) {
  std::vector<QueryHeadScore> scores;
  for (std::size_t i = 0; i < numbers.size() + 1; ++i) {
    scores.push_back({static_cast<int>(i), 0, i == 0 ? 0.5 : numbers[i - 1] % 8 / 8.0});
  }
  const RunDescription large{"", static_cast<int>(scores.size()), 1, 1, {}};
  const double share = *rc::gen::inRange(0, 101) / 100.0;
  const CachePlan less = plan_cache(large, scores, keeping(share / 2), "");
  const CachePlan more = plan_cache(large, scores, keeping(share), "");
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (less.heads[i].kind == CacheKind::full) RC_ASSERT(more.heads[i].kind == CacheKind::full);
    for (std::size_t j = 0; j < scores.size(); ++j) {
      if (more.heads[i].kind == CacheKind::full && more.heads[j].kind == CacheKind::window) {
        RC_ASSERT(more.heads[i].score > more.heads[j].score || (more.heads[i].score == more.heads[j].score && i < j));
      }
    }
  }
}

}  // namespace
}  // namespace attention_plasticity

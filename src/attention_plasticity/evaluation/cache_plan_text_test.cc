#include "attention_plasticity/evaluation/cache_plan_text.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <cmath>
#include <nlohmann/json.hpp>

#include "attention_plasticity/base/refusal_testing.h"

namespace attention_plasticity {
namespace {

CachePlan small_plan() {
  CachePlan plan;
  plan.model = "tiny";
  plan.column = "ap_exact";
  plan.keep = 0.5;
  plan.num_layers = 2;
  plan.num_q_heads = 4;
  plan.num_kv_heads = 2;
  plan.heads = {{CacheKind::full, 0.1 + 0.2, 0},
                {CacheKind::window, 0.25, 64},
                {CacheKind::sliding, std::nan(""), 512},
                {CacheKind::full, std::nan(""), 0}};
  return plan;
}

TEST(CachePlanText, JsonHoldsEverything) {
  EXPECT_EQ(cache_plan_text(small_plan(), PlanFormat::json), R"({
  "schema": 1,
  "kind": "attention-plasticity cache plan",
  "model": "tiny",
  "column": "ap_exact",
  "group": "max",
  "keep": 0.5,
  "threshold": null,
  "window": 64,
  "sinks": 4,
  "num_layers": 2,
  "num_q_heads": 4,
  "num_kv_heads": 2,
  "heads": [
    {"layer":0,"kv_head":0,"kind":"full","score":0.30000000000000004,"window":null},
    {"layer":0,"kv_head":1,"kind":"window","score":0.25,"window":64},
    {"layer":1,"kv_head":0,"kind":"sliding","score":null,"window":512},
    {"layer":1,"kv_head":1,"kind":"full","score":null,"window":null}
  ]
}
)");
}

TEST(CachePlanText, TsvIsAMatrixOfLayersByKvHeads) {
  EXPECT_EQ(cache_plan_text(small_plan(), PlanFormat::tsv), "1\t0\n1\t1\n");
}

TEST(CachePlanText, ScoresHoldEveryQueryHead) {
  EXPECT_EQ(cache_plan_text(small_plan(), PlanFormat::scores), R"({
  "0-0": [0.30000000000000004],
  "0-1": [0.30000000000000004],
  "0-2": [0.25],
  "0-3": [0.25],
  "1-0": [1.0],
  "1-1": [1.0],
  "1-2": [1.0],
  "1-3": [1.0]
}
)");
}

TEST(CachePlanText, IsRecognisedByContent) {
  EXPECT_EQ(cache_plan_format(cache_plan_text(small_plan(), PlanFormat::json), "p"), PlanFormat::json);
  EXPECT_EQ(cache_plan_format(cache_plan_text(small_plan(), PlanFormat::tsv), "p"), PlanFormat::tsv);
  EXPECT_EQ(cache_plan_format(cache_plan_text(small_plan(), PlanFormat::scores), "p"), PlanFormat::scores);
  for (const char* text : {"", "layer,q_head\n0,0\n", "full\twindow\n"}) {
    EXPECT_EQ(refusal([&] { cache_plan_format(text, "p"); }),
              "input: p: is not a plan: it is neither a JSON object nor a matrix of numbers between tabs");
  }
}

TEST(CachePlanText, HeadsInTsvAreFullFromOneHalf) {
  const CachePlan plan = parse_plan_tsv("4.9e-01\t5.0e-01\n9.9e-01\t0\n", "p", 6, {});
  EXPECT_EQ(cache_plan_text(plan, PlanFormat::tsv), "0\t1\n1\t0\n");
  EXPECT_EQ(plan.num_q_heads, 6);
  EXPECT_EQ(plan.head(0, 0).window, 64);
  EXPECT_FALSE(plan.column);
}

TEST(CachePlanText, KindsWithoutScoresBecomeOneAndZero) {
  EXPECT_EQ(cache_plan_text(parse_plan_tsv("0\t1\n", "p", {}, {}), PlanFormat::scores),
            "{\n  \"0-0\": [0.0],\n  \"0-1\": [1.0]\n}\n");
}

TEST(CachePlanText, RefusesBrokenPlansAndNamesTheKey) {
  const std::string text = cache_plan_text(small_plan(), PlanFormat::json);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return refusal([&] { parse_plan_json(changed, "p"); });
  };
  EXPECT_EQ(with("cache plan", "run"), "input: p: kind should be one of attention-plasticity cache plan");
  EXPECT_EQ(with("\"schema\": 1", "\"schema\": 2"),
            "input: p: is a plan of a later schema; this program reads schema 1");
  EXPECT_EQ(with("\"max\"", "\"min\""), "input: p: group should be one of max, mean");
  EXPECT_EQ(with("\"num_layers\": 2", "\"num_layers\": 3"),
            "input: p: heads should be a list of 6: 3 layers of 2 KV heads");
  EXPECT_EQ(with("\"num_q_heads\": 4", "\"num_q_heads\": 5"),
            "input: p: num_q_heads should be a multiple of num_kv_heads");
  EXPECT_EQ(with("\"sinks\": 4", "\"sinks\": -1"),
            "input: p: sinks should be a whole number from 0 to 9007199254740992");
  EXPECT_EQ(with("\"kv_head\":1", "\"kv_head\":0"), "input: p: heads[1]: layer 0, kv_head 0 occurs twice");
  EXPECT_EQ(with("\"window\":512", "\"window\":null"),
            "input: p: heads[2].window should be a whole number from 1 to 9007199254740992");
  EXPECT_EQ(with("\"kind\":\"window\"", "\"kind\":\"short\""),
            "input: p: heads[1].kind should be one of full, window, sliding");
  EXPECT_EQ(with("\"score\":0.25", "\"score\":\"high\""), "input: p: heads[1].score should be a number or null");
  EXPECT_EQ(with("\"keep\": 0.5", "\"keep\": true"), "input: p: keep should be a number or null");
  EXPECT_EQ(with("\"model\": \"tiny\"", "\"model\": 3"), "input: p: model should be text or null");
  EXPECT_EQ(refusal([] { parse_plan_tsv("1\tnan\n", "p", {}, {}); }),
            "input: p: layer 0: nan is neither full nor windowed");
  EXPECT_TRUE(refusal([] {
                parse_plan_tsv("1\t1\n", "p", 3, {});
              }).starts_with("usage: `num_q_heads`: the query heads should be a multiple of the KV heads"));
  EXPECT_TRUE(refusal([] { parse_plan_scores(R"({"0-2": [1]})", "p", 2, {}); }).starts_with("usage: `num_kv_heads`: "));
}

// A plan of random shape, scores, gaps and sliding layers, from metrics in random order.
struct RandomPlan {
  RunDescription model;
  CachePlanOptions options;
  CachePlan plan;
};

RandomPlan random_plan(bool with_sliding_and_gaps) {
  RandomPlan random;
  random.model.model = "random \"model\"";
  random.model.num_layers = *rc::gen::inRange(1, 6);
  random.model.num_k_heads = *rc::gen::inRange(1, 5);
  random.model.num_q_heads = random.model.num_k_heads * *rc::gen::inRange(1, 4);
  random.options.group = *rc::gen::element(GroupScore::max, GroupScore::mean);
  random.options.window = *rc::gen::inRange(1, 1000);
  random.options.sinks = *rc::gen::inRange(0, 10);
  random.options.keep_missing = with_sliding_and_gaps;
  const double share = *rc::gen::inRange(0, 1001) / 1000.0;
  (*rc::gen::arbitrary<bool>() ? random.options.keep : random.options.threshold) = share;
  std::string csv = "layer,q_head,k_head,ap_exact\n";
  const int group = random.model.num_q_heads / random.model.num_k_heads;
  for (int layer = random.model.num_layers - 1; layer >= 0; --layer) {
    if (with_sliding_and_gaps && *rc::gen::inRange(0, 4) == 0) random.model.windows[layer] = 512;
    for (int head = 0; head < random.model.num_q_heads; ++head) {
      const int score = *rc::gen::inRange(0, 12);
      const std::string text = with_sliding_and_gaps && score == 0 ? "" : std::to_string(score / 11.0);
      csv +=
          std::to_string(layer) + "," + std::to_string(head) + "," + std::to_string(head / group) + "," + text + "\n";
    }
  }
  random.plan = plan_cache(HeadMetrics(parse_csv(csv, "m.csv")), random.model, random.options);
  return random;
}

std::vector<bool> windowed(const CachePlan& plan) {
  std::vector<bool> kinds;
  for (const PlannedHead& head : plan.heads) kinds.push_back(head.kind == CacheKind::window);
  return kinds;
}

RC_GTEST_PROP(CachePlanText, ComesBackWholeFromJson, ()) {
  const CachePlan plan = random_plan(true).plan;
  const std::string text = cache_plan_text(plan, PlanFormat::json);
  RC_ASSERT(nlohmann::json::parse(text)["heads"].size() == plan.heads.size());
  const CachePlan back = parse_plan_json(text, "p");
  RC_ASSERT(cache_plan_text(back, PlanFormat::json) == text);
  RC_ASSERT(back.model == plan.model && back.column == plan.column && back.group == plan.group);
  RC_ASSERT(back.keep == plan.keep && back.threshold == plan.threshold);
  RC_ASSERT(back.window == plan.window && back.sinks == plan.sinks && back.num_q_heads == plan.num_q_heads);
  for (std::size_t i = 0; i < plan.heads.size(); ++i) {
    RC_ASSERT(back.heads[i].kind == plan.heads[i].kind);
    RC_ASSERT(back.heads[i].window == plan.heads[i].window);
    RC_ASSERT(back.heads[i].score == plan.heads[i].score ||
              (std::isnan(back.heads[i].score) && std::isnan(plan.heads[i].score)));
  }
  for (const PlanFormat format : {PlanFormat::tsv, PlanFormat::scores}) {
    RC_ASSERT(cache_plan_text(back, format) == cache_plan_text(plan, format));
  }
}

RC_GTEST_PROP(CachePlanText, KindsComeBackFromTsv, ()) {
  const RandomPlan random = random_plan(true);
  const std::string text = cache_plan_text(random.plan, PlanFormat::tsv);
  const CachePlan back = parse_plan_tsv(text, "p", random.plan.num_q_heads, random.options);
  RC_ASSERT(windowed(back) == windowed(random.plan));
  RC_ASSERT(cache_plan_text(back, PlanFormat::tsv) == text);
  // The kinds survive JSON as well.
  const CachePlan again = parse_plan_json(cache_plan_text(back, PlanFormat::json), "p");
  RC_ASSERT(cache_plan_text(again, PlanFormat::tsv) == text);
  RC_ASSERT(again.num_q_heads == random.plan.num_q_heads);
}

RC_GTEST_PROP(CachePlanText, KindsComeBackFromScores, ()) {
  const RandomPlan random = random_plan(false);
  const std::string text = cache_plan_text(random.plan, PlanFormat::scores);
  const CachePlan back = parse_plan_scores(text, "p", random.plan.num_kv_heads, random.options);
  RC_ASSERT(windowed(back) == windowed(random.plan));
  RC_ASSERT(back.num_layers == random.plan.num_layers && back.num_q_heads == random.plan.num_q_heads);
}

// Sliding and unmeasured heads have a score of 1.0, so that a threshold keeps them full.
RC_GTEST_PROP(CachePlanText, KindsComeBackFromScoresByThresholdEvenWithSlidingLayers, ()) {
  RandomPlan random = random_plan(true);
  RC_PRE(random.options.threshold.has_value());
  const std::string text = cache_plan_text(random.plan, PlanFormat::scores);
  RC_ASSERT(windowed(parse_plan_scores(text, "p", random.plan.num_kv_heads, random.options)) == windowed(random.plan));
}

}  // namespace
}  // namespace attention_plasticity

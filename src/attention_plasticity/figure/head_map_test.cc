#include "attention_plasticity/figure/head_map.h"

#include <gtest/gtest.h>

#include <cmath>

#include "attention_plasticity/base/refusal_testing.h"

namespace attention_plasticity {
namespace {

HeadMetrics metrics() {
  return HeadMetrics(parse_csv("layer,q_head,k_head,ap_exact,empty\n2,1,0,0.75,\n0,0,0,0.25,\n1,0,0,,\n", "m.csv"));
}

TEST(HeadMap, HasTheSizeOfTheRunAndItsWindows) {
  RunDescription run;
  run.num_layers = 4;
  run.num_q_heads = 3;
  run.windows = {{2, 512}};
  const HeadMap map = head_map(metrics(), "ap_exact", run);
  ASSERT_EQ(map.values.rows(), 4U);
  ASSERT_EQ(map.values.cols(), 3U);
  EXPECT_EQ(map.values.row(0)[0], 0.25);
  EXPECT_EQ(map.values.row(2)[1], 0.75);
  EXPECT_TRUE(std::isnan(map.values.row(1)[0]));
  EXPECT_TRUE(std::isnan(map.values.row(3)[2]));
  EXPECT_EQ(map.windows, run.windows);
}

TEST(HeadMap, IsAsLargeAsTheMetricsWithoutARunOrBeyondIt) {
  const HeadMap alone = head_map(metrics(), "ap_exact", std::nullopt);
  EXPECT_EQ(alone.values.rows(), 3U);
  EXPECT_EQ(alone.values.cols(), 2U);
  std::optional<RunDescription> small(std::in_place);
  small->num_layers = 1;
  small->num_q_heads = 1;
  EXPECT_EQ(head_map(metrics(), "ap_exact", small).values.rows(), 3U);
}

TEST(HeadMap, SelectionTakesRowsAndColumnsOutOfTheModel) {
  RunDescription run;
  run.num_layers = 4;
  run.num_q_heads = 3;
  run.windows = {{2, 512}, {3, 512}};
  const HeadMap map = head_map(metrics(), "ap_exact", run, {{2, 0}, {1, 2}});
  EXPECT_EQ(map.layers, (std::vector<int>{0, 2}));
  EXPECT_EQ(map.heads, (std::vector<int>{1, 2}));
  EXPECT_TRUE(std::isnan(map.values.row(0)[0]));
  EXPECT_EQ(map.values.row(1)[0], 0.75);
  EXPECT_EQ(map.windows, (std::map<int, std::int64_t>{{2, 512}}));
}

TEST(HeadMap, KnowsTheCountBehindAValue) {
  const HeadMetrics counted(
      parse_csv("layer,q_head,k_head,n_q_tokens,q_R2_pos,ap_exact,n_triples,x\n0,0,0,9,1,1,4096,1\n", "m.csv"));
  EXPECT_EQ(head_map(counted, "ap_exact", {}).counts.row(0)[0], 4096);
  EXPECT_EQ(head_map(counted, "q_R2_pos", {}).counts.row(0)[0], 9);
  EXPECT_TRUE(std::isnan(head_map(counted, "x", {}).counts.row(0)[0]));
  EXPECT_TRUE(std::isnan(head_map(metrics(), "ap_exact", {}).counts.row(0)[0]));
}

TEST(HeadMap, NeedsAColumnWithValues) {
  EXPECT_EQ(refusal([] { head_map(metrics(), "ap_exat", {}); }),
            "usage: m.csv has no column 'ap_exat'; did you mean ap_exact?");
  EXPECT_EQ(
      refusal([] { head_map(HeadMetrics(parse_csv("layer,q_head,k_head,x\n9999,9999,0,1\n", "m.csv")), "x", {}); }),
      "input: m.csv: 10000 by 10000 cells are too many to draw");
  EXPECT_EQ(refusal([] { head_map(metrics(), "empty", {}); }), "input: m.csv: no head has a value in column empty");
}

}  // namespace
}  // namespace attention_plasticity

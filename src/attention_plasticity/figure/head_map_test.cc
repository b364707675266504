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

#include "attention_plasticity/figure/component_bars.h"

#include <gtest/gtest.h>

#include <cmath>

#include "attention_plasticity/base/refusal_testing.h"

namespace attention_plasticity {
namespace {

// The shares are (1/4, 3/4, 0), (1/2, 1/2, none) and (0, 0, 1); the last head has only zeros and therefore no shares.
const char* const weights =
    "layer,q_head,k_head,component,r2,weight\n"
    "0,0,0,0,0,1\n0,0,0,1,0,3\n0,0,0,2,0,0\n"
    "0,1,0,0,0,0.2\n0,1,0,1,0,0.2\n0,1,0,2,0,\n"
    "1,0,0,0,0,0\n1,0,0,1,0,0\n1,0,0,2,0,7\n"
    "2,0,0,0,0,0\n2,0,0,1,0,0\n";

TEST(ComponentBars, AreMeansOfSharesThatSumToOneInEachHead) {
  const ComponentBars bars = component_bars(parse_csv(weights), Aggregate::mean, std::nullopt);
  EXPECT_EQ(bars.heads, 3U);
  ASSERT_EQ(bars.shares.size(), 3U);
  EXPECT_DOUBLE_EQ(bars.shares[0], 0.25);
  EXPECT_DOUBLE_EQ(bars.shares[1], 1.25 / 3);
  EXPECT_DOUBLE_EQ(bars.shares[2], 0.5);
}

TEST(ComponentBars, AreMediansOnRequestAndAsManyAsTheLimit) {
  const ComponentBars bars = component_bars(parse_csv(weights), Aggregate::median, 2);
  ASSERT_EQ(bars.shares.size(), 2U);
  EXPECT_DOUBLE_EQ(bars.shares[0], 0.25);
  EXPECT_DOUBLE_EQ(bars.shares[1], 0.5);
  EXPECT_EQ(component_bars(parse_csv(weights), Aggregate::mean, 99).shares.size(), 3U);
}

TEST(ComponentBars, TakeThePythonToolkitsNamesAndGaps) {
  const ComponentBars bars = component_bars(
      parse_csv("layer,q_head,component,component_r2,component_weight\n0,0,2,0,5\n"), Aggregate::mean, {});
  ASSERT_EQ(bars.shares.size(), 3U);
  EXPECT_TRUE(std::isnan(bars.shares[0]));
  EXPECT_EQ(bars.shares[2], 1);
}

// Vectors may be wider than models have layers or heads.
TEST(ComponentBars, AreThoseOfWideVectorsToo) {
  const auto with = [](const std::string& component) {
    return parse_csv("layer,q_head,component,weight\n0,0," + component + ",5\n", "c.csv");
  };
  EXPECT_EQ(component_bars(with("65535"), Aggregate::mean, {}).shares.size(), 65536U);
  EXPECT_EQ(refusal([&] { component_bars(with("1048576"), Aggregate::mean, {}); }),
            "input: c.csv: line 2, column 'component': '1048576' is not a whole number from 0 to 1048575");
}

TEST(ComponentBars, NeedTheirColumnsAndAWeight) {
  const auto refused = [](const std::string& text) {
    return refusal([&] { component_bars(parse_csv(text, "c.csv"), Aggregate::mean, {}); });
  };
  EXPECT_EQ(refused("layer,q_head,component,r2\n0,0,0,1\n"),
            "input: c.csv: has no column weight or component_weight; it should be the head_component_weights.csv of "
            "a run");
  EXPECT_EQ(refused("layer,q_head,component,weight\n0,0,0,0\n"), "input: c.csv: has no head with weights to draw");
  EXPECT_EQ(refused("layer,q_head,component,weight\n"), "input: c.csv: has no head with weights to draw");
}

}  // namespace
}  // namespace attention_plasticity

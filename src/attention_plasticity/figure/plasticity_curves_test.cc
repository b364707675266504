#include "attention_plasticity/figure/plasticity_curves.h"

#include <gtest/gtest.h>

#include "attention_plasticity/base/refusal_testing.h"

namespace attention_plasticity {
namespace {

const BucketGeometry uniform{BucketType::uniform, 100, true};

// Two heads. The first has three cells in bucket 2, one of them empty; the second has bucket 2 only.
const char* const own_columns =
    "layer,q_head,k_head,q_bucket,k_bucket,plasticity,n_pairs\n"
    "0,1,0,1,0,0.5,9\n"
    "0,1,0,2,0,0.25,9\n"
    "0,1,0,2,1,0.65,9\n"
    "0,1,0,2,2,,0\n"
    "3,0,0,2,0,0.9,9\n"
    "3,0,0,2,1,0.7,9\n"
    "4,0,0,1,0,,0\n";

TEST(PlasticityCurves, AreMeansOverKeyBucketsThenOverHeads) {
  const PlasticityCurves curves = plasticity_curves(parse_csv(own_columns), uniform);
  ASSERT_EQ(curves.heads.size(), 2U);
  EXPECT_EQ(curves.heads[0].layer, 0);
  EXPECT_EQ(curves.heads[0].q_head, 1);
  ASSERT_EQ(curves.heads[0].points.size(), 2U);
  EXPECT_EQ(curves.heads[0].points[0].position, 150);
  EXPECT_EQ(curves.heads[0].points[0].plasticity, 0.5);
  EXPECT_EQ(curves.heads[0].points[1].bucket, 2);
  EXPECT_DOUBLE_EQ(curves.heads[0].points[1].plasticity, 0.45);
  ASSERT_EQ(curves.heads[1].points.size(), 1U);
  EXPECT_DOUBLE_EQ(curves.heads[1].points[0].plasticity, 0.8);
  ASSERT_EQ(curves.mean.size(), 2U);
  EXPECT_EQ(curves.mean[0].plasticity, 0.5);
  EXPECT_DOUBLE_EQ(curves.mean[1].plasticity, 0.625);  // the mean of 0.45 and 0.8: heads count equally, not cells
}

TEST(PlasticityCurves, AreTheSameUnderThePythonToolkitsNames) {
  std::string text = own_columns;
  text.replace(text.find("q_bucket"), 8, "bucket");
  text.replace(text.find("plasticity"), 10, "ap_bucket");
  const PlasticityCurves curves = plasticity_curves(parse_csv(text), uniform);
  EXPECT_DOUBLE_EQ(curves.mean[1].plasticity, 0.625);
}

TEST(PlasticityCurves, HavePointsAtTheMiddleOfLogBuckets) {
  const PlasticityCurves curves = plasticity_curves(parse_csv(own_columns), {BucketType::log, 8, true});
  EXPECT_DOUBLE_EQ(curves.mean[0].position, 8 * 2.8284271247461903);
}

TEST(PlasticityCurves, SlopeIsPerToken) {
  const PlasticityCurves curves = plasticity_curves(
      parse_csv("layer,q_head,bucket,ap_bucket\n0,0,0,0.1\n0,0,1,0.2\n0,0,2,0.6\n0,1,0,0.5\n"), uniform);
  // Least squares of 0.1, 0.2, 0.6 at 50, 150, 250: (0.6 - 0.1) / 200.
  EXPECT_NEAR(curves.heads[0].slope, 0.0025, 1e-15);
  EXPECT_EQ(curves.heads[1].slope, 0);
}

TEST(PlasticityCurves, TrendIsRisingOrFallingBeyondTheThreshold) {
  HeadCurve curve;
  curve.slope = 0.002;
  EXPECT_EQ(trend_of(curve, 0.001), Trend::rising);
  EXPECT_EQ(trend_of(curve, 0.002), Trend::flat);
  curve.slope = -0.002;
  EXPECT_EQ(trend_of(curve, 0.001), Trend::falling);
  EXPECT_EQ(trend_of(curve, 0.002), Trend::flat);
}

TEST(PlasticityCurves, NeedTheirColumnsAndAValue) {
  const auto refused = [](const std::string& text) {
    return refusal([&] { plasticity_curves(parse_csv(text, "b.csv"), uniform); });
  };
  EXPECT_EQ(refused("layer,q_head,k_head,ap_exact\n0,0,0,1\n"),
            "input: b.csv: has no column q_bucket or bucket; it should be the head_bucket_plasticity.csv of a run");
  EXPECT_EQ(refused("layer,q_head,q_bucket,x\n0,0,0,1\n"),
            "input: b.csv: has no column plasticity or ap_bucket; it should be the head_bucket_plasticity.csv of a "
            "run");
  EXPECT_EQ(refused("layer,q_head,bucket,ap_bucket\n"), "input: b.csv: has no value of plasticity to draw");
  EXPECT_EQ(refused("layer,q_head,bucket,ap_bucket\n0,0,1,\n"), "input: b.csv: has no value of plasticity to draw");
  EXPECT_EQ(refused("layer,q_head,bucket,ap_bucket\n0,0,1,high\n"),
            "input: b.csv: line 2, column 'ap_bucket': 'high' is not a finite number");
}

}  // namespace
}  // namespace attention_plasticity

#include "attention_plasticity/figure/plasticity_curves.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "attention_plasticity/base/refusal_testing.h"
#include "places.h"

namespace attention_plasticity {
namespace {

const BucketGeometry uniform{BucketType::uniform, 100, true};

// Two heads. The first has three cells in bucket 2, one of them empty; the second has bucket 2 only.
const char* const own_columns =
    "layer,q_head,k_head,q_bucket,k_bucket,plasticity,n_pairs\n"
    "0,1,0,1,0,0.5,9\n"
    "0,1,0,2,0,0.25,30\n"
    "0,1,0,2,1,0.65,10\n"
    "0,1,0,2,2,,0\n"
    "3,0,0,2,0,0.9,5\n"
    "3,0,0,2,1,0.7,5\n"
    "4,0,0,1,0,,0\n";

TEST(PlasticityCurves, PooledAreMeansOverAllPairsOfAHeadAndOfAllHeads) {
  const PlasticityCurves curves = pooled_curves(parse_csv(own_columns), uniform, 0);
  ASSERT_EQ(curves.heads.size(), 2U);
  EXPECT_EQ(curves.heads[0].layer, 0);
  EXPECT_EQ(curves.heads[0].q_head, 1);
  ASSERT_EQ(curves.heads[0].points.size(), 2U);
  EXPECT_EQ(curves.heads[0].points[0].position, 150);
  EXPECT_EQ(curves.heads[0].points[0].plasticity, 0.5);
  EXPECT_EQ(curves.heads[0].points[1].bucket, 2);
  EXPECT_DOUBLE_EQ(curves.heads[0].points[1].plasticity, 0.35);  // (30 x 0.25 + 10 x 0.65) / 40
  EXPECT_EQ(curves.heads[0].points[1].count, 40);
  ASSERT_EQ(curves.heads[1].points.size(), 1U);
  EXPECT_DOUBLE_EQ(curves.heads[1].points[0].plasticity, 0.8);
  ASSERT_EQ(curves.mean.size(), 2U);
  EXPECT_EQ(curves.mean[0].plasticity, 0.5);
  EXPECT_DOUBLE_EQ(curves.mean[1].plasticity, 0.44);  // (40 x 0.35 + 10 x 0.8) / 50
  EXPECT_EQ(curves.mean[1].count, 50);
  EXPECT_EQ(curves.mean[1].support, 50);
  EXPECT_EQ(curves.mean[0].support, 4.5);  // nine pairs, of one head of two
  EXPECT_EQ(curves.num_heads, 2U);
}

TEST(PlasticityCurves, AreTheSameUnderThePythonToolkitsNames) {
  std::string text = own_columns;
  text.replace(text.find("q_bucket"), 8, "bucket");
  text.replace(text.find("plasticity"), 10, "ap_bucket");
  EXPECT_DOUBLE_EQ(pooled_curves(parse_csv(text), uniform, 0).mean[1].plasticity, 0.44);
  // Its own tables have no counts. Cells of a head then count the same, and so do heads.
  text.replace(text.find("n_pairs"), 7, "other");
  const PlasticityCurves curves = pooled_curves(parse_csv(text), uniform, 30);
  EXPECT_DOUBLE_EQ(curves.mean[1].plasticity, 0.625);  // the mean of 0.45 and 0.8
  EXPECT_TRUE(std::isnan(curves.mean[1].count));
  EXPECT_TRUE(std::isnan(curves.mean[1].support));
}

// Three heads by time. The last one has too few triples anywhere.
const char* const by_time =
    "layer,q_head,k_head,q_bucket,position,plasticity,n_pairs,n_queries,ap_exact,ap_exact_se,n_triples\n"
    "0,1,0,0,50,,0,9,0.5,0.25,100\n"
    "0,1,0,1,150,0.9,40,9,0.25,0.125,10\n"
    "3,0,0,0,50,,0,9,0.75,0.5,300\n"
    "3,0,0,1,150,0.8,10,9,,,0\n"
    "3,1,0,0,50,,0,9,1,,20\n";

TEST(PlasticityCurves, ExactOnesHaveErrorsAndCountTriples) {
  const PlasticityCurves curves = exact_curves(parse_csv(by_time), uniform, 30, {});
  EXPECT_EQ(curves.num_heads, 3U);
  ASSERT_EQ(curves.heads.size(), 2U);
  ASSERT_EQ(curves.heads[0].points.size(), 1U);  // the point of 10 triples is left out
  EXPECT_EQ(curves.heads[0].points[0].error, 0.25);
  EXPECT_EQ(curves.heads[0].points[0].count, 100);
  ASSERT_EQ(curves.mean.size(), 2U);
  EXPECT_NEAR(curves.mean[0].plasticity, (0.5 * 100 + 0.75 * 300 + 20) / 420, 1e-15);
  EXPECT_EQ(curves.mean[0].count, 420);
  EXPECT_EQ(curves.mean[0].error, (0.25 * 100 + 0.5 * 300) / 400);  // the bound; the third head has no error
  EXPECT_EQ(curves.mean[1].plasticity, 0.25);
  EXPECT_EQ(curves.mean[1].error, 0.125);
  EXPECT_NEAR(curves.mean[1].support, 10.0 / 3, 1e-15);
}

TEST(PlasticityCurves, PooledOnesOfTheTableByTimeAreThoseOfItsCells) {
  const PlasticityCurves curves = pooled_curves(parse_csv(by_time), uniform, 0);
  EXPECT_EQ(curves.num_heads, 2U);
  ASSERT_EQ(curves.mean.size(), 1U);
  EXPECT_DOUBLE_EQ(curves.mean[0].plasticity, 0.88);
  EXPECT_TRUE(std::isnan(curves.mean[0].error));
  const std::filesystem::path sample = source_folder() / "results/smollm2-135m";
  const PlasticityCurves times = pooled_curves(read_csv(sample / "head_time_plasticity.csv"), uniform, 30);
  const PlasticityCurves cells = pooled_curves(read_csv(sample / "head_bucket_plasticity.csv"), uniform, 30);
  ASSERT_EQ(times.mean.size(), cells.mean.size());
  for (std::size_t i = 0; i < times.mean.size(); ++i) {
    EXPECT_NEAR(times.mean[i].plasticity, cells.mean[i].plasticity, 1e-12);
    EXPECT_EQ(times.mean[i].count, cells.mean[i].count);
  }
}

// The jackknife of the mean itself, bucket by bucket, from the values without each group of documents of every head and
// bucket (an independent computation in NumPy): 0.0106 on average for SmolLM2. The bound is 0.0333.
TEST(PlasticityCurves, ErrorsOfMeansAreNearThoseOfTheMeanItself) {
  const std::filesystem::path sample = source_folder() / "results/smollm2-135m";
  const CsvTable table = read_csv(sample / "head_time_plasticity.csv");
  const auto average = [&](const MeanError& error) {
    double sum = 0;
    const PlasticityCurves curves = exact_curves(table, uniform, 30, error);
    for (const CurvePoint& point : curves.mean) sum += point.error;
    return sum / static_cast<double>(curves.mean.size());
  };
  EXPECT_NEAR(average({}), 0.0333, 0.0001);
  EXPECT_NEAR(average(MeanError(read_csv(sample / "head_groups.csv"))), 0.0150, 0.0001);
}

TEST(PlasticityCurves, ExactOnesNeedAValue) {
  EXPECT_TRUE(has_exact_plasticity(parse_csv(by_time)));
  EXPECT_FALSE(has_exact_plasticity(parse_csv(own_columns)));
  EXPECT_FALSE(has_exact_plasticity(parse_csv("layer,q_head,q_bucket,ap_exact\n0,0,0,\n")));
  EXPECT_EQ(
      refusal([] { exact_curves(parse_csv("layer,q_head,q_bucket,ap_exact\n0,0,0,\n", "t.csv"), uniform, 0, {}); }),
      "input: t.csv: has no value of plasticity to draw");
}

TEST(PlasticityCurves, HavePointsAtTheMiddleOfLogBuckets) {
  const PlasticityCurves curves = pooled_curves(parse_csv(own_columns), {BucketType::log, 8, true}, 0);
  EXPECT_DOUBLE_EQ(curves.mean[0].position, 8 * 2.8284271247461903);
}

TEST(PlasticityCurves, SlopeIsPerToken) {
  const PlasticityCurves curves = pooled_curves(
      parse_csv("layer,q_head,bucket,ap_bucket\n0,0,0,0.1\n0,0,1,0.2\n0,0,2,0.6\n0,1,0,0.5\n"), uniform, 0);
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
    return refusal([&] { pooled_curves(parse_csv(text, "b.csv"), uniform, 0); });
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

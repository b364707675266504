#include "attention_plasticity/figure/cell_map.h"

#include <gtest/gtest.h>

#include <cmath>

#include "attention_plasticity/base/refusal_testing.h"

namespace attention_plasticity {
namespace {

// Three heads in cell (1, 0), two in (3, 1); (2, 2) and (2, 3) are not causal.
const char* const buckets =
    "layer,q_head,k_head,q_bucket,k_bucket,plasticity\n"
    "0,0,0,1,0,0.1\n0,1,0,1,0,0.2\n1,0,0,1,0,0.9\n"
    "0,0,0,3,1,0.4\n0,1,0,3,1,0.6\n1,0,0,3,1,\n"
    "0,0,0,2,2,1\n0,0,0,2,3,1\n";

TEST(BucketMap, IsTheMeanOverHeadsWithBlanksBetween) {
  const CellMap map = bucket_map(parse_csv(buckets), Aggregate::mean);
  EXPECT_EQ(map.rows.front(), 1);
  EXPECT_EQ(map.columns.front(), 0);
  ASSERT_EQ(map.cells.rows(), 3U);
  ASSERT_EQ(map.cells.cols(), 2U);
  EXPECT_DOUBLE_EQ(map.cells.row(0)[0], 0.4);
  EXPECT_DOUBLE_EQ(map.cells.row(2)[1], 0.5);
  EXPECT_TRUE(std::isnan(map.cells.row(0)[1]));
  EXPECT_TRUE(std::isnan(map.cells.row(1)[0]));
  EXPECT_TRUE(std::isnan(map.cells.row(2)[0]));
}

TEST(BucketMap, WeighsHeadsByTheirPairs) {
  const CellMap map = bucket_map(parse_csv("layer,q_head,k_head,q_bucket,k_bucket,plasticity,n_pairs\n"
                                           "0,0,0,1,0,0.2,30\n0,1,0,1,0,0.8,10\n0,0,0,2,0,0.5,4\n0,1,0,2,0,0.9,0\n"),
                                 Aggregate::mean);
  EXPECT_TRUE(map.has_counts);
  EXPECT_EQ(map.heads, 2U);
  EXPECT_DOUBLE_EQ(map.cells.row(0)[0], 0.35);
  EXPECT_EQ(map.counts.row(0)[0], 40);
  EXPECT_EQ(map.support.row(0)[0], 40);
  EXPECT_EQ(map.cells.row(1)[0], 0.5);
  EXPECT_EQ(map.counts.row(1)[0], 4);
  EXPECT_EQ(map.support.row(1)[0], 2);  // one of two heads has the cell
  EXPECT_FALSE(bucket_map(parse_csv(buckets), Aggregate::mean).has_counts);
}

TEST(BucketMap, IsTheMedianOnRequest) {
  const CellMap map = bucket_map(parse_csv(buckets), Aggregate::median);
  EXPECT_EQ(map.cells.row(0)[0], 0.2);
  EXPECT_DOUBLE_EQ(map.cells.row(2)[1], 0.5);
}

TEST(BucketMap, TakesThePythonToolkitsNames) {
  const CellMap map = bucket_map(parse_csv("layer,q_head,bucket,k_bucket,ap_bucket\n0,0,1,0,0.25\n"), Aggregate::mean);
  EXPECT_EQ(map.cells.row(0)[0], 0.25);
}

TEST(BucketMap, NeedsKeyBucketsAndCausalValues) {
  const auto refused = [](const std::string& text) {
    return refusal([&] { bucket_map(parse_csv(text, "b.csv"), Aggregate::mean); });
  };
  EXPECT_EQ(refused("layer,q_head,bucket,ap_bucket\n0,0,1,0.5\n"),
            "input: b.csv: has no column k_bucket; it should be the head_bucket_plasticity.csv of a run");
  EXPECT_EQ(refused("layer,q_head,q_bucket,k_bucket,plasticity\n0,0,1,1,0.5\n"),
            "input: b.csv: has no value of plasticity to draw");
}

TEST(BucketMap, PutsBucketsThatLieFarApartSideBySide) {
  const CellMap map = bucket_map(parse_csv("layer,q_head,q_bucket,k_bucket,plasticity\n0,0,10690,0,0.25\n"
                                           "0,0,9223372036854775807,10690,0.5\n"),
                                 Aggregate::mean);
  constexpr std::int64_t last = 9223372036854775807;
  EXPECT_EQ(map.rows, (std::vector<std::int64_t>{10'690, last}));
  EXPECT_EQ(map.columns, (std::vector<std::int64_t>{0, 10'690}));
  EXPECT_EQ(map.cells.row(0)[0], 0.25);
  EXPECT_EQ(map.cells.row(1)[1], 0.5);
  EXPECT_TRUE(std::isnan(map.cells.row(0)[1]));
  EXPECT_EQ(bin_edges(map.rows), (std::vector<std::int64_t>{10'690, last, last}));
  EXPECT_EQ(bin_edges(map.columns).back(), 10'691);
}

TEST(DistanceMap, HasFarBinsAsRows) {
  const CellMap map = distance_map(parse_csv("layer,q_head,k_head,near_bin,far_bin,plasticity\n"
                                             "0,0,0,2,4,0.5\n0,1,0,2,4,0.7\n0,0,0,2,2,0.1\n0,0,0,3,4,0.2\n"),
                                   Aggregate::mean);
  EXPECT_EQ(map.rows.front(), 2);
  EXPECT_EQ(map.columns.front(), 2);
  ASSERT_EQ(map.cells.rows(), 3U);
  ASSERT_EQ(map.cells.cols(), 2U);
  EXPECT_EQ(map.cells.row(0)[0], 0.1);
  EXPECT_DOUBLE_EQ(map.cells.row(2)[0], 0.6);
  EXPECT_EQ(map.cells.row(2)[1], 0.2);
  EXPECT_TRUE(std::isnan(map.cells.row(1)[0]));
}

TEST(DistanceMap, BinsStartOneShortOfPowersOfTwo) {
  EXPECT_EQ(distance_bin_start(0), 0);
  EXPECT_EQ(distance_bin_start(1), 1);
  EXPECT_EQ(distance_bin_start(10), 1023);
}

}  // namespace
}  // namespace attention_plasticity

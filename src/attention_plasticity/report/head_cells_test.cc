#include "attention_plasticity/report/head_cells.h"

#include <gtest/gtest.h>

#include <cmath>

#include "attention_plasticity/base/refusal_testing.h"

namespace attention_plasticity {
namespace {

const HeadMetrics two_heads(parse_csv("layer,q_head,k_head,x\n0,1,0,1\n3,0,0,2\n", "metrics.csv"));

HeadCells cells_of(const std::string& text) {
  return head_cells(parse_csv(text, "t.csv"), two_heads, TableId::buckets);
}

TEST(HeadCells, CellsAreThoseOfAnyHeadInOrder) {
  const HeadCells cells = cells_of(
      "layer,q_head,q_bucket,k_bucket,plasticity,n_pairs\n"
      "3,0,2,1,0.5,7\n"
      "3,0,1,0,,0\n"
      "0,1,2,0,0.25,9\n"
      "0,1,1,0,1,8\n");
  EXPECT_EQ(cells.num_heads, 2U);
  ASSERT_EQ(cells.num_cells, 3U);
  EXPECT_EQ(cells.keys[0].name, "q_bucket");
  EXPECT_EQ(cells.keys[0].values, (std::vector<std::int64_t>{1, 2, 2}));
  EXPECT_EQ(cells.keys[1].values, (std::vector<std::int64_t>{0, 0, 1}));
  const auto* plasticity = cells.find("plasticity");
  ASSERT_NE(plasticity, nullptr);
  EXPECT_EQ(plasticity->values[0], 1);
  EXPECT_EQ(plasticity->values[1], 0.25);
  EXPECT_TRUE(std::isnan(plasticity->values[2]));
  EXPECT_TRUE(std::isnan(plasticity->values[3]));
  EXPECT_TRUE(std::isnan(plasticity->values[4]));
  EXPECT_EQ(plasticity->values[5], 0.5);
  ASSERT_NE(cells.find("n_pairs"), nullptr);
  EXPECT_EQ(cells.find("n_pairs")->values[3], 0);
}

TEST(HeadCells, NamesOfThePythonToolkitMeanTheSame) {
  const HeadCells cells = cells_of("layer,q_head,bucket,ap_bucket\n0,1,4,0.5\n");
  ASSERT_EQ(cells.keys.size(), 1U);
  EXPECT_EQ(cells.keys[0].name, "q_bucket");
  ASSERT_NE(cells.find("plasticity"), nullptr);
  EXPECT_EQ(cells.find("plasticity")->values[0], 0.5);
  EXPECT_EQ(cells.find("n_pairs"), nullptr);
}

TEST(HeadCells, HeadsThatWereNotMeasuredAreCounted) {
  const HeadCells cells = cells_of("layer,q_head,q_bucket,k_bucket,plasticity\n9,9,1,0,0.5\n0,1,1,0,0.5\n");
  EXPECT_EQ(cells.strangers, 1U);
  EXPECT_EQ(cells.num_cells, 1U);
}

TEST(HeadCells, AmbiguousOrIncompleteTablesAreRefused) {
  EXPECT_EQ(
      refusal([] { cells_of("layer,q_head,q_bucket,x\n0,1,1,0\n"); }),
      "input: t.csv: has no column plasticity or ap_bucket; it should be the head_bucket_plasticity.csv of a run");
  EXPECT_EQ(refusal([] { cells_of("layer,q_bucket,plasticity\n0,1,1\n"); }),
            "input: t.csv: has no column q_head; it should be the head_bucket_plasticity.csv of a run");
  EXPECT_EQ(refusal([] { cells_of("layer,q_head,q_bucket,plasticity\n0,1,1,0.5\n3,0,1,0\n0,1,1,0.25\n"); }),
            "input: t.csv: lines 2 and 4 have the same head and cell");
  EXPECT_EQ(refusal([] { cells_of("layer,q_head,q_bucket,plasticity\n0,1,1,high\n"); }),
            "input: t.csv: line 2, column 'plasticity': 'high' is not a finite number");
}

}  // namespace
}  // namespace attention_plasticity

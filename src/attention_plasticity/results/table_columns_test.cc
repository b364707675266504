#include "attention_plasticity/results/table_columns.h"

#include <gtest/gtest.h>

#include "attention_plasticity/base/refusal_testing.h"

namespace attention_plasticity {
namespace {

TEST(ColumnPlace, TakesTheProjectsNameFirstThenThoseOfOthers) {
  EXPECT_EQ(column_place(parse_csv("ap_bucket,plasticity\n1,2\n"), TableId::buckets, "plasticity"), 1U);
  EXPECT_EQ(column_place(parse_csv("layer,ap_bucket\n1,2\n"), TableId::buckets, "plasticity"), 1U);
  EXPECT_EQ(column_place(parse_csv("layer,bucket\n1,2\n"), TableId::buckets, "q_bucket"), 1U);
}

TEST(ColumnPlace, SaysWhichNamesItLookedForAndWhichTableItNeeds) {
  const CsvTable table = parse_csv("layer,x\n1,2\n", "b.csv");
  EXPECT_EQ(find_column(table, *result_table(TableId::buckets).find("n_pairs")), std::nullopt);
  EXPECT_EQ(
      refusal([&] { column_place(table, TableId::buckets, "plasticity"); }),
      "input: b.csv: has no column plasticity or ap_bucket; it should be the head_bucket_plasticity.csv of a run");
  EXPECT_EQ(refusal([&] { column_place(table, TableId::distance, "far_bin"); }),
            "input: b.csv: has no column far_bin; it should be the head_distance_plasticity.csv of a run");
}

TEST(CountPlace, IsThatOfTheColumnThatCountsTheSamples) {
  const CsvTable times = parse_csv("layer,plasticity,n_pairs,ap_exact,n_triples\n0,1,2,3,4\n");
  EXPECT_EQ(count_place(times, TableId::time, "plasticity"), 2U);
  EXPECT_EQ(count_place(times, TableId::time, "ap_exact"), 4U);
  EXPECT_EQ(count_place(times, TableId::time, "n_pairs"), std::nullopt);
  EXPECT_EQ(count_place(parse_csv("ap_bucket\n0\n"), TableId::buckets, "plasticity"), std::nullopt);
}

}  // namespace
}  // namespace attention_plasticity

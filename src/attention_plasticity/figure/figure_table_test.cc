#include "attention_plasticity/figure/figure_table.h"

#include <gtest/gtest.h>

#include <cmath>

#include "attention_plasticity/base/refusal_testing.h"

namespace attention_plasticity {
namespace {

TEST(Aggregated, MeansAndMediansWeighByCounts) {
  EXPECT_DOUBLE_EQ(aggregated({{0.2, 1}, {0.8, 3}}, Aggregate::mean), 0.65);
  EXPECT_DOUBLE_EQ(aggregated({{0.9, 1}, {0.1, 1}, {0.5, 3}, {0.2, 1}}, Aggregate::median), 0.5);
  EXPECT_DOUBLE_EQ(aggregated({{0.9, 5}, {0.1, 1}, {0.2, 1}}, Aggregate::median), 0.9);
}

TEST(Aggregated, IsTheUsualMedianForEqualCounts) {
  EXPECT_DOUBLE_EQ(aggregated({{0.9}, {0.1}, {0.5}}, Aggregate::median), 0.5);
  EXPECT_DOUBLE_EQ(aggregated({{0.9, 7}, {0.1, 7}, {0.5, 7}, {0.3, 7}}, Aggregate::median), 0.4);
  EXPECT_DOUBLE_EQ(aggregated({{0.25, 2}}, Aggregate::median), 0.25);
}

TEST(Aggregated, ValuesWithoutCountsHaveNoWeight) {
  EXPECT_DOUBLE_EQ(aggregated({{0.2, 0}, {0.8, 3}}, Aggregate::mean), 0.8);
  EXPECT_TRUE(std::isnan(aggregated({{0.2, 0}}, Aggregate::mean)));
  EXPECT_TRUE(std::isnan(aggregated({}, Aggregate::median)));
}

TEST(SupportingCount, IsTheCountTimesTheShareOfHeads) {
  EXPECT_DOUBLE_EQ(supporting_count(35, 17, 40), 14.875);
  EXPECT_DOUBLE_EQ(supporting_count(35, 40, 40), 35);
  EXPECT_DOUBLE_EQ(supporting_count(35, 1, 1), 35);
}

TEST(SelectedRows, AreThoseOfTheLayersAndHeads) {
  const CsvTable table = parse_csv("layer,q_head,x\n0,0,1\n0,1,2\n3,0,3\n3,1,4\n", "t.csv");
  const auto first = [&](const HeadSelection& selection, int layers = 0) {
    return selected_rows(table, selection, layers).rows;
  };
  EXPECT_EQ(first({}).size(), 4U);
  EXPECT_EQ(first({{3}, {}}).size(), 2U);
  ASSERT_EQ(first({{0, 3}, {1}}).size(), 2U);
  EXPECT_EQ(first({{0, 3}, {1}})[1][2], "4");
  EXPECT_EQ(selected_rows(table, {{3}, {1}}).lines, std::vector<std::size_t>{5});
  // A sample of the heads may lack whole layers. Those within the model are no error.
  EXPECT_EQ(first({{2, 3}, {}}).size(), 2U);
  EXPECT_EQ(first({{3, 7}, {}}, 8).size(), 2U);
}

TEST(SelectedRows, RefuseHeadsThatAreNotThere) {
  const CsvTable table = parse_csv("layer,q_head,x\n0,0,1\n3,1,4\n", "t.csv");
  EXPECT_EQ(refusal([&] { selected_rows(table, {{0, 4}, {}}); }), "usage: `layers: 4`: the layers of t.csv are 0 to 3");
  EXPECT_EQ(refusal([&] { selected_rows(table, {{}, {9}}, 4, 9); }),
            "usage: `heads: 9`: the heads of t.csv are 0 to 8");
  EXPECT_EQ(refusal([&] { selected_rows(table, {{1, 2}, {}}); }),
            "usage: t.csv has no row for any head in layers 1, 2");
  EXPECT_EQ(refusal([&] { selected_rows(table, {{3}, {0}}); }), "usage: t.csv has no row for head 0 in layer 3");
  EXPECT_EQ(refusal([] { selected_rows(parse_csv("layer,x\n0,1\n", "t.csv"), {{0}, {}}); }),
            "input: t.csv: has no column q_head, so heads cannot be selected");
}

}  // namespace
}  // namespace attention_plasticity

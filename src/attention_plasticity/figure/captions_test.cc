#include "attention_plasticity/figure/captions.h"

#include <gtest/gtest.h>

namespace attention_plasticity {
namespace {

constexpr double unknown = CurvePoint::unknown;

Matrix row(std::initializer_list<double> values) {
  Matrix matrix(1, values.size());
  std::size_t column = 0;
  for (const double value : values) matrix.row(0)[column++] = value;
  return matrix;
}

TEST(CountText, HasCommasBetweenThousands) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1000), "1,000");
  EXPECT_EQ(count_text(1234567), "1,234,567");
}

TEST(HeadText, NamesASingleHeadAndCountsASelection) {
  const CsvTable one = parse_csv("layer,q_head,x\n3,2,1\n3,2,2\n");
  const CsvTable two = parse_csv("layer,q_head,x\n3,2,1\n4,2,2\n");
  EXPECT_EQ(num_heads(one), 1U);
  EXPECT_EQ(num_heads(two), 2U);
  EXPECT_EQ(num_heads(parse_csv("x\n1\n")), 0U);
  EXPECT_EQ(head_text(one, 1, 1), "1 head (layer 3, head 2)");
  EXPECT_EQ(head_text(one, 1, 40), "1 head (layer 3, head 2)");
  EXPECT_EQ(head_text(two, 2, 2), "2 heads");
  EXPECT_EQ(head_text(two, 2, 40), "2 of 40 heads");
  EXPECT_EQ(head_text(two, 1, 2), "1 head");
}

TEST(CellsCaption, GivesCountsAndTheMeaningOfHatching) {
  const Matrix counts = row({35, unknown, 11918});
  EXPECT_EQ(cells_caption(&counts, "40 heads", "triples", false, 40, 30), "40 heads, 35 to 11,918 triples in a cell");
  EXPECT_EQ(cells_caption(&counts, "40 heads", "triples", true, 40, 30),
            "40 heads, 35 to 11,918 triples in a cell; hatched: triples × share of heads with any < 30");
  EXPECT_EQ(cells_caption(&counts, "1 head", "triples", true, 1, 50),
            "1 head, 35 to 11,918 triples in a cell; hatched: fewer than 50 triples");
  EXPECT_EQ(cells_caption(nullptr, "60 heads", "pairs of keys", false, 60, 30), "60 heads");
}

TEST(HeadsCaption, GivesCountsOfAHead) {
  EXPECT_EQ(heads_caption(row({4096, 4096, unknown}), "2 heads", "triples", false, 30), "2 heads, 4,096 triples each");
  EXPECT_EQ(heads_caption(row({9, 4096}), "2 heads", "queries", true, 30),
            "2 heads, 9 to 4,096 queries each; hatched: fewer than 30 queries");
  EXPECT_EQ(heads_caption(row({4096}), "1 head", "triples", false, 30), "1 head, 4,096 triples");
  EXPECT_EQ(heads_caption(row({unknown}), "1 head", "triples", false, 30), "1 head");
  EXPECT_EQ(heads_caption(row({1}), "1 head", "", false, 30), "1 head");
}

TEST(CurvesCaption, GivesCountsErrorsAndTheMeaningOfDots) {
  PlasticityCurves curves;
  curves.num_heads = 2;
  curves.mean = {{0, 50, 0.5, 0.1, 100, 100}, {1, 150, 0.5, 0.1, 2000, 2000}};
  EXPECT_EQ(curves_caption(curves, "2 heads", "triples", 30, false),
            "2 heads, 100 to 2,000 triples in a bucket; errors over documents");
  EXPECT_EQ(curves_caption(curves, "2 heads", "triples", 30, true),
            "2 heads, 100 to 2,000 triples in a bucket; errors over documents are upper bounds");
  EXPECT_EQ(curves_caption(curves, "2 heads", "triples", 101, false),
            "2 heads, 100 to 2,000 triples in a bucket; errors over documents; dotted: triples × share of heads with "
            "any < 101");
  curves.num_heads = 1;
  curves.mean = {{0, 50, 0.5, unknown, 20, 20}};
  EXPECT_EQ(curves_caption(curves, "1 head", "pairs of keys", 30, true),
            "1 head, 20 pairs of keys in a bucket; dotted: fewer than 30 pairs of keys");
  curves.mean = {{0, 50, 0.5}};
  EXPECT_EQ(curves_caption(curves, "1 head", "pairs of keys", 30, true), "1 head");
}

}  // namespace
}  // namespace attention_plasticity

#include "attention_plasticity/evaluation/head_ranking.h"

#include <gtest/gtest.h>

#include "attention_plasticity/results/head_tables.h"

namespace attention_plasticity {
namespace {

RankedMeasure measure_of(const std::string& text, const std::string& name) {
  const HeadMetrics metrics(parse_csv(text));
  const std::string error = name + "_se";
  return {name, metrics.heads(), metrics.values(name),
          metrics.has(error) ? metrics.values(error) : std::vector<double>{}};
}

const char* const five_heads =
    "layer,q_head,k_head,ap_exact,ap_exact_se\n0,0,0,0.5,0.01\n0,1,0,0.9,\n0,2,1,,\n1,0,0,0.25,0.0125\n1,1,0,0.5,0.02\n"
    "1,3,1,0.1,0.03\n";

TEST(RankingTable, ShowsBothEndsWithErrorsAndLabels) {
  const HeadLabels labels =
      parse_head_labels("layer,q_head,induction,previous_token\n0,1,0.41234,0.001\n1,0,0.02,12.3456\n", "l.csv");
  EXPECT_EQ(ranking_table(measure_of(five_heads, "ap_exact"), 2, &labels),
            "layer  q_head  ap_exact       ±  induction  previous_token\n"
            "    0       1    0.9000       -      0.412           0.001\n"
            "    0       0    0.5000  0.0100          -               -\n"
            "  ...\n"
            "    1       0    0.2500  0.0125       0.02            12.3\n"
            "    1       3    0.1000  0.0300          -               -\n");
}

TEST(RankingTable, ShowsFewHeadsInOneBlockWithTiesByLayerAndHead) {
  EXPECT_EQ(ranking_table(measure_of("layer,q_head,k_head,x\n1,0,0,0.5\n0,1,0,0.5\n0,0,0,0.75\n", "x"), 2, nullptr),
            "layer  q_head       x\n"
            "    0       0  0.7500\n"
            "    0       1  0.5000\n"
            "    1       0  0.5000\n");
}

TEST(RankingTable, SpreadsLabelsOfKeyValueHeads) {
  const HeadLabels labels = parse_head_labels("layer,k_head,role\n0,0,3\n0,1,4\n", "l.csv");
  EXPECT_EQ(ranking_table(measure_of("layer,q_head,k_head,x\n0,0,0,0.5\n0,1,0,0.25\n0,2,1,0.125\n", "x"), 5, &labels),
            "layer  q_head       x  role\n"
            "    0       0  0.5000     3\n"
            "    0       1  0.2500     3\n"
            "    0       2  0.1250     4\n");
}

TEST(RankingTable, IsEmptyWithoutValues) {
  EXPECT_EQ(ranking_table(measure_of("layer,q_head,k_head,x\n1,0,0,\n", "x"), 2, nullptr), "");
}

}  // namespace
}  // namespace attention_plasticity

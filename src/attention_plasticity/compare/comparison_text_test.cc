#include "attention_plasticity/compare/comparison_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "attention_plasticity/base/text_file.h"
#include "places.h"

namespace attention_plasticity {
namespace {

HeadDifference head_difference(int layer, int q_head, double a, double b, double error, double p, double q) {
  HeadDifference head;
  head.head = {layer, q_head, 0};
  head.a = a;
  head.b = b;
  head.difference = b - a;
  head.error = error;
  head.z = head.difference / error;
  head.p = p;
  head.q = q;
  return head;
}

Comparison small_comparison() {
  ColumnComparison column;
  column.column = "ap_exact";
  column.has_errors = true;
  column.heads = {head_difference(0, 0, 0.25, 0.75, 0.0625, 0.001, 0.002),
                  head_difference(1, 0, 0.5, 0.5, 0.125, 1, 1)};
  column.model = column.heads.front();
  column.count = 2;
  column.up = 1;
  Comparison comparison;
  comparison.paired = true;
  comparison.documents_a = comparison.documents_b = 16;
  comparison.matched = 2;
  comparison.only_b = 3;
  comparison.columns.push_back(column);
  return comparison;
}

ComparedRun named_run(const std::string& folder) {
  return {folder, {}, 0, {}, {}, HeadMetrics(parse_csv("layer,q_head,k_head\n0,0,0\n")), {}};
}

TEST(ComparisonText, HasARowForEachHead) {
  EXPECT_EQ(differences_csv(small_comparison()),
            "layer,q_head,k_head,column,a,b,difference,se,z,p,q\n"
            "0,0,0,ap_exact,0.25,0.75,0.5,0.0625,8,0.001,0.002\n"
            "1,0,0,ap_exact,0.5,0.5,0,0.125,0,1,1\n");
}

TEST(ComparisonText, TellsPeopleWhatMoved) {
  const std::string text = comparison_table(small_comparison(), named_run("out/a"), named_run("out/b"));
  EXPECT_NE(text.find("a: out/a (an unnamed model)\nb: out/b"), std::string::npos) << text;
  EXPECT_NE(text.find("2 heads in both, 3 only in b. Both runs measured the same 16 documents, so errors are paired."),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("ap_exact: heads that moved (q < 0.05), by layer\n\nlayer  up  down\n0      1   0\n"),
            std::string::npos)
      << text;
}

TEST(ComparisonText, SummaryIsJson) {
  const auto json = nlohmann::json::parse(comparison_json(small_comparison(), named_run("out/a"), named_run("out/b")));
  EXPECT_EQ(json["heads"]["matched"], 2);
  EXPECT_EQ(json["columns"][0]["up"], 1);
  EXPECT_EQ(json["columns"][0]["layers"][0]["up"], 1);
  EXPECT_TRUE(json["columns"][0]["rank_correlation"].is_null());
}

TEST(ComparisonText, ColumnsAreDocumented) {
  const std::string docs = read_text_file(source_folder() / "docs/formats.md");
  for (const DifferenceColumn& column : difference_columns()) {
    EXPECT_NE(docs.find("| `" + std::string(column.name) + "` | " + std::string(column.meaning) + " |"),
              std::string::npos)
        << column.name;
  }
}

}  // namespace
}  // namespace attention_plasticity

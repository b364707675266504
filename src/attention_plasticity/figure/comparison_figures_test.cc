#include "attention_plasticity/figure/comparison_figures.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "attention_plasticity/base/refusal_testing.h"
#include "attention_plasticity/base/temporary_folder_testing.h"

namespace attention_plasticity {
namespace {

// Two layers of two heads: one moved up, one moved down, one did not move, one has no error.
constexpr const char* differences =
    "layer,q_head,k_head,column,a,b,difference,se,z,p,q\n"
    "0,0,0,ap_exact,0.25,0.75,0.5,0.0625,8,0.001,0.004\n"
    "0,1,0,ap_exact,0.5,0.5,0,0.125,0,1,1\n"
    "1,0,0,ap_exact,0.75,0.5,-0.25,0.03125,-8,0.001,0.004\n"
    "1,1,0,ap_exact,0.5,0.625,0.125,,,,\n"
    "0,0,0,ap_overall,0.5,0.25,-0.25,0.25,-1,0.3,0.3\n";

constexpr const char* series =
    "layer,q_head,k_head,column,run,x,value,se,change,change_se,z,p,q,crossing\n"
    "0,0,0,ap_exact,0,100,0.25,0.1,,,,,,0\n"
    "0,0,0,ap_exact,1,200,0.75,0.1,0.5,0.1,5,0.01,0.02,1\n"
    "0,1,0,ap_exact,0,100,0.5,0.1,,,,,,0\n"
    "0,1,0,ap_exact,1,200,0.5,0.1,0,0.1,0,1,1,0\n";

class ComparisonFigures : public testing::Test {
 protected:
  ComparisonFigures() {
    std::ofstream(folder_ / "head_differences.csv") << differences;
    std::ofstream(folder_ / "comparison.json") << R"({"b": {"model": "tuned"}, "level": 0.05})";
    std::ofstream(folder_ / "head_series.csv") << series;
    std::ofstream(folder_ / "series.json") << R"({"x": "step", "runs": [{"model": "toy"}, {"model": "toy"}],
      "columns": [{"column": "ap_exact", "runs": [{"mean": 0.375, "se": 0.125}, {"mean": 0.625, "se": null}]}]})";
  }

  FigureOptions options(FigureKind kind) const {
    FigureOptions options;
    options.kind = kind;
    options.table = folder_.path();
    return options;
  }

  static bool holds(const FigureOptions& options, const std::string& text) {
    const std::string script = figure_script(options).text;
    return script.find(text) != std::string::npos ? true : (ADD_FAILURE() << script, false);
  }

  TemporaryFolder folder_;
};

TEST_F(ComparisonFigures, ScatterShowsWhatMoved) {
  const FigureOptions changes = options(FigureKind::changes);
  EXPECT_TRUE(holds(changes, "$group1 << EOD\n0.25 0.75 0.0625\nEOD"));
  EXPECT_TRUE(holds(changes, "$group2 << EOD\n0.75 0.5 0.03125\nEOD"));
  EXPECT_TRUE(holds(changes, "$group0 << EOD\n0.5 0.5 0.125\n0.5 0.625 0\nEOD")) << "no error: no bar";
  EXPECT_TRUE(holds(changes, "plot x with lines"));
  EXPECT_TRUE(holds(changes, "2 of 4 heads moved"));
  EXPECT_TRUE(holds(changes, "tuned"));
}

TEST_F(ComparisonFigures, MapIsCentredAtZeroAndFadesWhatDidNotMove) {
  const FigureOptions map = options(FigureKind::change_map);
  EXPECT_TRUE(holds(map, "set cbrange [-0.5:0.5]"));
  EXPECT_TRUE(holds(map, "$faded << EOD\n1 0 1 2 0 1\n1 1 1 2 1 2\nEOD"));
}

TEST_F(ComparisonFigures, AnotherColumnCanBeDrawn) {
  FigureOptions map = options(FigureKind::change_map);
  map.column = "ap_overall";
  EXPECT_TRUE(holds(map, "set cbrange [-0.25:0.25]"));
  map.column = "slope_norm";
  EXPECT_EQ(refusal([&] { figure_script(map); }),
            "usage: " + (folder_ / "head_differences.csv").string() + " has no differences of slope_norm");
}

TEST_F(ComparisonFigures, SeriesHasALineForEachHeadAndTheMeanWithItsBand) {
  const FigureOptions lines = options(FigureKind::series);
  EXPECT_TRUE(holds(lines, "$heads << EOD\n100 0.25\n200 0.75\n\n100 0.5\n200 0.5\n\nEOD"));
  EXPECT_TRUE(holds(lines, "$mean << EOD\n100 0.375 0.25 0.5\n200 0.625 0.625 0.625\nEOD"));
  EXPECT_TRUE(holds(lines, "set xrange [100:200]"));
}

TEST_F(ComparisonFigures, ChosenHeadsHaveNoMean) {
  FigureOptions lines = options(FigureKind::series);
  lines.selection.heads = {1};
  const std::string script = figure_script(lines).text;
  EXPECT_EQ(script.find("$mean"), std::string::npos);
  EXPECT_NE(script.find("$heads << EOD\n100 0.5\n200 0.5\n\nEOD"), std::string::npos);
}

TEST_F(ComparisonFigures, TableOfARunIsRefused) {
  const std::string file = (folder_ / "head_metrics.csv").string();
  std::ofstream(file) << "layer,q_head,k_head,ap_exact\n0,0,0,0.5\n";
  FigureOptions changes = options(FigureKind::changes);
  changes.table = file;
  EXPECT_EQ(refusal([&] { figure_script(changes); }),
            "input: " + file + ": has no column column; `attention-plasticity compare` writes it");
}

}  // namespace
}  // namespace attention_plasticity

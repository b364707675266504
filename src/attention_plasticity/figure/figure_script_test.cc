#include "attention_plasticity/figure/figure_script.h"

#include <gtest/gtest.h>

#include <limits>

namespace attention_plasticity {
namespace {

constexpr double blank = std::numeric_limits<double>::quiet_NaN();
const FigureLabels labels{"it's `id`", "x {a}", "y @b", "c `d`"};
const BucketGeometry hundreds{BucketType::uniform, 100, true};

bool has(const std::string& script, const std::string& text) { return script.find(text) != std::string::npos; }

std::size_t count(const std::string& script, const std::string& text) {
  std::size_t found = 0;
  for (std::size_t at = script.find(text); at != std::string::npos; at = script.find(text, at + 1)) ++found;
  return found;
}

PlasticityCurves two_heads() {
  PlasticityCurves curves;
  curves.heads.push_back({0, 0, {{0, 50, 0.5}, {1, 150, 0.25}}, -0.0025});
  curves.heads.push_back({4, 1, {{1, 150, 0.75}}, 0});
  curves.mean = {{0, 50, 0.5}, {1, 150, 0.5}};
  curves.num_heads = 2;
  return curves;
}

TEST(CurvesScript, DrawsEveryHeadThinAndTheMeanBold) {
  const std::string script = curves_script(two_heads(), hundreds, {}, labels, {});
  EXPECT_TRUE(has(script, "$group0 << EOD\n50 0.5\n150 0.25\n\n150 0.75\n\nEOD\n"));
  EXPECT_TRUE(has(script, "$mean << EOD\n50 0.5\n150 0.5\nEOD\n"));
  EXPECT_TRUE(has(script, "$group0 with lines linewidth 0.8 linecolor rgb '#bf4477aa' notitle"));
  EXPECT_TRUE(has(script,
                  "$mean with linespoints linewidth 2.5 pointtype 7 pointsize 0.3 linecolor rgb '#d62728' "
                  "title \"mean of 2 heads\""));
  EXPECT_TRUE(has(script, "set xrange [0:200]\nset xtics (\"0\" 0, \"100\" 100, \"200\" 200)\n"));
  EXPECT_TRUE(has(script, "set yrange [0:1]\n"));
}

TEST(CurvesScript, ErrorsAreABandAndLittleDataIsDotted) {
  PlasticityCurves curves = two_heads();
  EXPECT_FALSE(has(curves_script(curves, hundreds, {}, labels, {}), "$band"));
  constexpr double none = CurvePoint::unknown;
  curves.mean = {
      {0, 50, 0.5, 0.125, 90, 90}, {1, 150, 0.5, 0.125, 9, 9}, {2, 250, 0.75, 0.25, 90, 90}, {3, 350, 1, none}};
  CurveLook look;
  look.min_count = 30;
  const std::string script = curves_script(curves, hundreds, look, labels, {});
  EXPECT_TRUE(has(script, "$band << EOD\n50 0.375 0.625\n\n250 0.5 1\n\nEOD\n"));
  EXPECT_TRUE(has(script, "$mean << EOD\n50 0.5\n\n250 0.75\n350 1\nEOD\n"));
  EXPECT_TRUE(has(script, "$little << EOD\n50 0.5\n150 0.5\n250 0.75\n350 1\nEOD\n"));
  EXPECT_TRUE(has(script, "$band using 1:2:3 with filledcurves"));
  EXPECT_TRUE(has(script, "title \"little data\""));
  look.min_count = 9;
  EXPECT_FALSE(has(curves_script(curves, hundreds, look, labels, {}), "little data"));
}

TEST(CurvesScript, ASingleHeadIsNoMean) {
  PlasticityCurves curves = two_heads();
  curves.heads.pop_back();
  curves.num_heads = 1;
  CurveLook look;
  look.colors = CurveColors::layer;
  const std::string script = curves_script(curves, hundreds, look, labels, {});
  EXPECT_TRUE(has(script, "title \"1 head\""));
  EXPECT_FALSE(has(script, "$group"));
  EXPECT_FALSE(has(script, "cbrange"));
  // The head's only curve is dotted when all of it is little data.
  curves.heads.clear();
  for (CurvePoint& point : curves.mean) point.support = 1;
  look.min_count = 30;
  EXPECT_TRUE(has(curves_script(curves, hundreds, look, labels, {}), "$mean << EOD\nNaN NaN"));
}

TEST(CurvesScript, QuotesAllText) {
  const std::string script = curves_script(two_heads(), hundreds, {}, labels, {});
  EXPECT_TRUE(has(script, R"(set title "it\047s \140id\140" font)"));
  EXPECT_TRUE(has(script, "set xlabel \"x \\173a\\175\"\n"));
  EXPECT_TRUE(has(script, "set ylabel \"y \\100b\"\n"));
  EXPECT_TRUE(has(script, R"(set label 1 "c \140d\140" at screen 0.5)"));
}

TEST(CurvesScript, ColoursByLayerWithABar) {
  CurveLook look;
  look.colors = CurveColors::layer;
  look.alpha = 1;
  const std::string script = curves_script(two_heads(), hundreds, look, labels, {});
  EXPECT_TRUE(has(
      script, "set cbrange [0:4]\nset cbtics (\"0\" 0, \"1\" 1, \"2\" 2, \"3\" 3, \"4\" 4)\nset cblabel \"layer\""));
  EXPECT_TRUE(has(script, "$group0 with lines linewidth 0.8 linecolor rgb '#440154'"));
  EXPECT_TRUE(has(script, "$group1 with lines linewidth 0.8 linecolor rgb '#fde725'"));
  EXPECT_TRUE(has(script, "linecolor palette"));
}

TEST(CurvesScript, ColoursByTrendWithALegend) {
  CurveLook look;
  look.colors = CurveColors::trend;
  const std::string script = curves_script(two_heads(), hundreds, look, labels, {});
  EXPECT_TRUE(has(script, "title \"flat: 1\""));
  EXPECT_TRUE(has(script, "title \"falling: 1\""));
  EXPECT_FALSE(has(script, "rising"));
  EXPECT_TRUE(has(script, "linecolor rgb '#bfd62728' notitle"));
  look.trend_threshold = 0.01;
  EXPECT_TRUE(has(curves_script(two_heads(), hundreds, look, labels, {}), "title \"flat: 2\""));
}

TEST(CurvesScript, LogBucketsHaveALogAxis) {
  const std::string script = curves_script(two_heads(), {BucketType::log, 512, true}, {}, labels, {});
  EXPECT_TRUE(
      has(script, "set logscale x 2\nset xrange [512:2048]\nset xtics (\"512\" 512, \"1k\" 1024, \"2k\" 2048)\n"));
}

TEST(CurvesScript, ManyBucketsHaveFewTicks) {
  PlasticityCurves curves = two_heads();
  curves.mean.push_back({999, 99950, 0.5});
  EXPECT_LE(count(curves_script(curves, hundreds, {}, labels, {}), "00' "), 9U);
}

TEST(BarsScript, HasABarForEveryShare) {
  const std::string script = bars_script({{0.25, blank, 0.75}, 3}, labels, {});
  EXPECT_TRUE(has(script, "$bars << EOD\n0 0.25\n2 0.75\nEOD\nplot $bars with boxes"));
  EXPECT_TRUE(has(script, "set xrange [-0.7:2.7]\nset yrange [0:*]\n"));
}

MapDrawing two_by_two() {
  MapDrawing map;
  map.cells = Matrix(2, 2);
  map.cells.row(0)[0] = 0.5;
  map.cells.row(0)[1] = blank;
  map.cells.row(1)[0] = 0.25;
  map.cells.row(1)[1] = 1;
  map.x_ticks = {{0, "0"}, {1, "1k"}};
  map.color_label = "value";
  return map;
}

TEST(MapScript, DrawsCellsAndLeavesBlanksOpen) {
  const std::string script = map_script(two_by_two(), ColorMap("magma"), labels, {});
  // Cells extend under the neighbours that are drawn later, and under no others.
  EXPECT_TRUE(has(script, "$cells << EOD\n0 0 0 1 0 1.05 0.5\n0 1 0 1.05 1 2 0.25\n1 1 1 2 1 2 1\nEOD\n"));
  EXPECT_TRUE(has(script, "set yrange [0:2]\n"));
  EXPECT_TRUE(has(script, "set xtics (\"0\" 0, \"1k\" 1)\n"));
  EXPECT_FALSE(has(script, "set object"));
  EXPECT_FALSE(has(script, "\nset key"));
}

TEST(MapScript, ShadesBlanksAndMarksRowsWhenAsked) {
  MapDrawing map = two_by_two();
  map.first_row_on_top = true;
  map.blank_note = "not measured";
  map.marked_rows = {0, 1};
  map.mark_note = "sliding";
  const std::string script = map_script(map, ColorMap("viridis"), labels, {});
  EXPECT_TRUE(has(script, "set yrange [2:0]\n"));
  EXPECT_TRUE(has(script, "set object 1 rectangle from 0,0 to 2,2 behind"));
  EXPECT_TRUE(has(script, "title \"not measured\""));
  EXPECT_TRUE(has(script, "title \"sliding\""));
  EXPECT_EQ(count(script, "set arrow"), 1U);  // neighbouring rows share a mark
  EXPECT_TRUE(has(script, "first 0.1 to graph 1.012, first 1.9 "));
  map.marked_rows = {0};
  EXPECT_TRUE(has(map_script(map, ColorMap("viridis"), labels, {}), "first 0.1 to graph 1.012, first 0.9 "));
}

TEST(MapScript, HatchesCellsWithLittleData) {
  MapDrawing map = two_by_two();
  map.hatched = {{0, 1}};
  map.hatch_note = "little data";
  map.blank_note = "not measured";
  const std::string script = map_script(map, ColorMap("magma"), labels, {});
  EXPECT_TRUE(has(script, "$hatched << EOD\n1 0 1 2 0 1\nEOD\n"));
  EXPECT_TRUE(has(script, "fillstyle transparent pattern"));
  EXPECT_TRUE(has(script, "title \"little data\""));
  EXPECT_FALSE(has(script, "not measured"));  // the only cell without a colour is hatched
}

TEST(MapScript, FullMapsNeedNoShade) {
  MapDrawing map = two_by_two();
  map.cells.row(0)[1] = 0;
  map.blank_note = "not measured";
  EXPECT_FALSE(has(map_script(map, ColorMap("viridis"), labels, {}), "not measured"));
}

}  // namespace
}  // namespace attention_plasticity

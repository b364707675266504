#include "attention_plasticity/figure/figure.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "attention_plasticity/base/refusal_testing.h"
#include "attention_plasticity/base/temporary_folder_testing.h"

namespace attention_plasticity {
namespace {

class FigureOfARun : public ::testing::Test {
 protected:
  FigureOfARun() {
    write("head_bucket_plasticity.csv",
          "layer,q_head,k_head,q_bucket,k_bucket,plasticity\n0,0,0,1,0,0.5\n0,0,0,2,0,0.25\n0,0,0,2,1,0.75\n");
    write("head_component_weights.csv", "layer,q_head,component,weight\n0,0,0,1\n0,0,1,3\n");
    write("head_distance_plasticity.csv", "layer,q_head,near_bin,far_bin,plasticity\n0,0,0,1,0.5\n0,0,1,3,0.25\n");
    write("head_metrics.csv", "layer,q_head,k_head,ap_exact\n0,0,0,0.5\n2,1,0,0.75\n");
  }

  void write(const char* name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  void write_run(const std::string& sampling) const {
    write("run.json", R"({"schema": 1, "heads": {"done": 2}, "summary": {"ap_exact": {"mean": 0.625}},
        "files": ["head_bucket_plasticity.csv", "head_component_weights.csv", "head_distance_plasticity.csv",
                  "head_metrics.csv"],
        "model": {"name": "lab <1>", "num_layers": 4, "num_q_heads": 2, "num_k_heads": 1,
        "layers": [{"layer": 2, "attention": "sliding", "window": 512}]}, "sampling": )" +
                          sampling + "}");
  }
  FigureOptions options(FigureKind kind) const {
    FigureOptions options;
    options.kind = kind;
    options.table = folder_.path();
    return options;
  }
  bool notes(const FigureOptions& options, const std::string& text) const {
    const std::vector<std::string> notes = figure_script(options).notes;
    return std::ranges::any_of(notes, [&](const std::string& note) { return note.ends_with(text); });
  }
  bool shows(const FigureOptions& options, const std::string& text) const {
    return figure_script(options).text.find(text) != std::string::npos;
  }

  const TemporaryFolder folder_;
};

TEST_F(FigureOfARun, TakesGeometryAndNameFromTheRun) {
  write_run(R"({"strategy": "uniform", "bucket_size": 128.0})");
  const FigureOptions plasticity = options(FigureKind::plasticity);
  EXPECT_TRUE(shows(plasticity, "$mean << EOD\n192 0.5\n320 0.5\nEOD"));
  EXPECT_TRUE(shows(plasticity, "set title \"Pooled plasticity by position of the query — lab \\0741\\076\""));
  EXPECT_TRUE(shows(plasticity, "position of the query (tokens)"));
  EXPECT_TRUE(shows(options(FigureKind::heatmap), "set xtics (\"0\" 0, \"128\" 1, \"256\" 2)"));
  EXPECT_TRUE(shows(options(FigureKind::heatmap), "set ytics (\"128\" 0, \"256\" 1, \"384\" 2)"));
  write_run(R"({"strategy": "log", "bucket_size": null})");
  EXPECT_TRUE(shows(plasticity, "set logscale x 2"));
  EXPECT_TRUE(shows(options(FigureKind::heatmap), "set ytics (\"2\" 0, \"4\" 1, \"8\" 2)"));
}

TEST_F(FigureOfARun, CountsBucketsWhenTheirSizeIsUnknown) {
  EXPECT_TRUE(shows(options(FigureKind::plasticity), "set xlabel \"bucket of the query\""));
  EXPECT_TRUE(shows(options(FigureKind::plasticity), "set title \"Pooled plasticity by position of the query\" "));
  write_run("null");
  EXPECT_TRUE(shows(options(FigureKind::heatmap), "position of the keys (bucket)"));
}

TEST_F(FigureOfARun, OptionsWinOverTheRun) {
  write_run(R"({"strategy": "log", "bucket_size": 16})");
  FigureOptions asked = options(FigureKind::plasticity);
  asked.bucket_type = BucketType::uniform;
  asked.bucket_min_size = 10;
  asked.model_name = "mine";
  EXPECT_TRUE(shows(asked, "$mean << EOD\n15 0.5\n25 0.5\nEOD"));
  EXPECT_TRUE(shows(asked, "of the query — mine\""));
  asked.title = "all of it";
  EXPECT_TRUE(shows(asked, "set title \"all of it\" "));
}

TEST_F(FigureOfARun, ShowsDistancesInTokens) {
  EXPECT_TRUE(shows(options(FigureKind::distance), "set xtics (\"0\" 0, \"1\" 1, \"3\" 2)"));
  EXPECT_TRUE(shows(options(FigureKind::distance), "set ytics (\"1\" 0, \"3\" 1, \"7\" 2, \"15\" 3)"));
}

TEST_F(FigureOfARun, MarksSlidingLayersOfTheWholeModel) {
  write_run("null");
  const FigureOptions heads = options(FigureKind::heads);
  EXPECT_TRUE(shows(heads, "title \"sliding window (512 tokens)\""));
  EXPECT_TRUE(shows(heads, "first 2.1 to graph 1.012, first 2.9"));
  EXPECT_TRUE(shows(heads, "set yrange [4:0]"));
  EXPECT_TRUE(shows(heads, "title \"not measured\""));
  EXPECT_TRUE(shows(heads, "set cbrange [0.5:0.75]"));
}

TEST_F(FigureOfARun, ScaleSpansTheValuesUnlessGiven) {
  FigureOptions map = options(FigureKind::heatmap);
  EXPECT_TRUE(shows(map, "set cbrange [0.25:0.75]"));
  map.vmin = 0;
  EXPECT_TRUE(shows(map, "set cbrange [0:0.75]"));
  map.vmax = 1;
  EXPECT_TRUE(shows(map, "set cbrange [0:1]"));
  map.vmin = 1;
  EXPECT_EQ(refusal([&] { figure_script(map); }), "usage: `vmin` should be below `vmax`: 1 is not below 1");
  map.vmax.reset();
  EXPECT_EQ(refusal([&] { figure_script(map); }),
            "usage: `vmin` should be below `vmax`: the values go from 0.25 to 0.75, the colours from 1 to 0.75");
}

TEST_F(FigureOfARun, OneValueHasAScaleAroundIt) {
  write("head_metrics.csv", "layer,q_head,k_head,ap_exact\n0,0,0,0.5\n");
  EXPECT_TRUE(shows(options(FigureKind::heads), "set cbrange [0.25:0.75]"));
  // The scale stays within the values that a column may have.
  write("head_metrics.csv", "layer,q_head,k_head,ap_exact,x\n0,0,0,0,0\n");
  EXPECT_TRUE(shows(options(FigureKind::heads), "set cbrange [0:0.5]"));
  FigureOptions other = options(FigureKind::heads);
  other.column = "x";
  EXPECT_TRUE(shows(other, "set cbrange [-0.5:0.5]"));
  write("head_metrics.csv", "layer,q_head,k_head,ap_exact\n0,0,0,0.9\n");
  EXPECT_TRUE(shows(options(FigureKind::heads), "set cbrange [0.45:1]"));
  write("head_distance_plasticity.csv", "layer,q_head,near_bin,far_bin,plasticity\n0,0,0,1,1\n");
  EXPECT_TRUE(shows(options(FigureKind::distance), "set cbrange [0.5:1]"));
}

TEST_F(FigureOfARun, ComponentsStateTheNumberOfHeads) {
  FigureOptions bars = options(FigureKind::components);
  EXPECT_TRUE(shows(bars, "set ylabel \"share\""));
  EXPECT_TRUE(shows(bars, "\"1 head (layer 0, head 0)\""));
  write("head_component_weights.csv", "layer,q_head,component,weight\n0,0,0,1\n0,0,1,3\n1,0,0,1\n1,0,1,3\n");
  EXPECT_TRUE(shows(bars, "set ylabel \"share, mean of 2 heads\""));
  EXPECT_TRUE(shows(bars, "\"2 heads, which weigh the same\""));
  EXPECT_TRUE(shows(bars, "$bars << EOD\n0 0.25\n1 0.75\nEOD"));
  bars.ylabel = "weight";
  bars.limit = 1;
  EXPECT_TRUE(shows(bars, "set ylabel \"weight\""));
  EXPECT_TRUE(shows(bars, "$bars << EOD\n0 0.25\nEOD"));
}

const char* const by_time =
    "layer,q_head,k_head,q_bucket,position,plasticity,n_pairs,n_queries,ap_exact,ap_exact_se,n_triples\n"
    "0,0,0,0,50,,0,9,0.25,0.125,100\n0,0,0,1,150,0.9,40,9,0.5,0.125,100\n"
    "0,1,0,0,50,,0,9,0.5,0.25,300\n0,1,0,1,150,0.8,10,9,0.5,0.25,300\n";

TEST_F(FigureOfARun, CurvesArePositionExactWhereTheyCan) {
  write("head_time_plasticity.csv", by_time);
  FigureOptions curves = options(FigureKind::plasticity);
  EXPECT_TRUE(shows(curves, "set title \"Position-exact plasticity by position of the query\""));
  EXPECT_TRUE(shows(curves, "$mean << EOD\n0.5 0.4375\n1.5 0.5\nEOD"));
  EXPECT_TRUE(shows(curves, "$band << EOD\n0.5 0.21875 0.65625\n"));  // the bound (0.125 x 100 + 0.25 x 300) / 400
  EXPECT_TRUE(shows(curves, "2 heads, 400 triples in a bucket\\073 errors over documents are upper bounds"));
  EXPECT_FALSE(notes(curves, "is drawn"));
  // Both heads move apart: -1, 0, 1 and 1, 0, -1.
  write("head_groups.csv",
        "layer,q_head,k_head,group,ap_overall,ap_exact\n0,0,0,0,0,0.4\n0,0,0,1,0,0.5\n0,0,0,2,0,0.6\n"
        "0,1,0,0,0,0.6\n0,1,0,1,0,0.5\n0,1,0,2,0,0.4\n");
  EXPECT_TRUE(shows(curves, "\\073 errors over documents\""));
  curves.pooled = true;
  EXPECT_TRUE(shows(curves, "set title \"Pooled plasticity by position of the query\""));
  EXPECT_TRUE(shows(curves, "$mean << EOD\n1.5 0.88\nEOD"));
  EXPECT_FALSE(shows(curves, "$band"));
  EXPECT_FALSE(notes(curves, "is drawn"));
}

TEST_F(FigureOfARun, CurvesArePooledWhereNothingIsExact) {
  const FigureOptions curves = options(FigureKind::plasticity);
  EXPECT_EQ(figure_script(curves).notes,
            std::vector<std::string>{(folder_ / "head_bucket_plasticity.csv").string() +
                                     " has no position-exact plasticity; the pooled one is "
                                     "drawn"});
  // So it is with a table by time that has no exact columns, and with the file of the cells.
  write("head_time_plasticity.csv",
        "layer,q_head,k_head,q_bucket,position,plasticity,n_pairs,n_queries\n0,0,0,1,9,1,40,9\n");
  EXPECT_TRUE(shows(curves, "set title \"Pooled plasticity"));
  EXPECT_TRUE(shows(curves, "$mean << EOD\n1.5 1\nEOD"));
  write("head_time_plasticity.csv", by_time);
  FigureOptions cells = curves;
  cells.table = folder_ / "head_bucket_plasticity.csv";
  EXPECT_TRUE(shows(cells, "set title \"Pooled plasticity"));
  EXPECT_TRUE(shows(cells, "$mean << EOD\n1.5 0.5\n2.5 0.5\nEOD"));
}

TEST_F(FigureOfARun, CurvesOfAnotherRunAreRefusedByName) {
  write("head_time_plasticity.csv", by_time);
  write("run.json", R"({"schema": 1, "heads": {"done": 2}, "summary": {"ap_exact": {"mean": 0.625}},
      "files": ["head_bucket_plasticity.csv", "head_metrics.csv"], "model": {"name": "lab", "num_layers": 4,
      "num_q_heads": 2, "num_k_heads": 1, "layers": []}})");
  EXPECT_TRUE(refusal([&] {
                figure_script(options(FigureKind::plasticity));
              }).starts_with("input: " + (folder_ / "head_time_plasticity.csv").string() + ": "));
}

TEST_F(FigureOfARun, HeadsArePooledWhereNothingIsExact) {
  write("head_metrics.csv", "layer,q_head,k_head,ap_overall\n0,0,0,0.5\n");
  const FigureOptions heads = options(FigureKind::heads);
  EXPECT_TRUE(shows(heads, "set title \"Pooled plasticity (ap_overall)\""));
  EXPECT_TRUE(notes(heads, "head_metrics.csv has no ap_exact; ap_overall is drawn"));
  write("head_metrics.csv", "layer,q_head,k_head,x\n0,0,0,0.5\n");
  EXPECT_TRUE(refusal([&] { figure_script(heads); }).ends_with("has no column 'ap_exact'"));
}

TEST_F(FigureOfARun, TitlesSayPooledOrPositionExact) {
  write("head_metrics.csv",
        "layer,q_head,k_head,q_R2_pos,ap_overall,ap_exact,logit_fixed,mine\n0,0,0,1,1,1,1,1\n1,0,0,1,1,1,1,1\n");
  FigureOptions heads = options(FigureKind::heads);
  const auto title = [&](const char* column) {
    heads.column = column;
    const std::string script = figure_script(heads).text;
    const std::size_t begin = script.find("set title \"") + 11;
    return script.substr(begin, script.find('"', begin) - begin);
  };
  EXPECT_EQ(title("ap_exact"), "Position-exact plasticity (ap_exact) by head");
  EXPECT_EQ(title("ap_overall"), "Pooled plasticity (ap_overall) by head");
  EXPECT_EQ(title("logit_fixed"), "logit_fixed (position-exact) by head");
  EXPECT_EQ(title("q_R2_pos"), "q_R2_pos (pooled over positions) by head");
  EXPECT_EQ(title("mine"), "mine by head");
  EXPECT_TRUE(shows(options(FigureKind::heatmap), "set title \"Pooled plasticity by position of query and keys\""));
  EXPECT_TRUE(shows(options(FigureKind::distance), "set title \"Position-exact plasticity by distance of the keys\""));
  EXPECT_TRUE(shows(options(FigureKind::components), "pooled over positions\""));
}

TEST_F(FigureOfARun, LittleDataIsHatchedAndSetsNoColour) {
  write("head_distance_plasticity.csv",
        "layer,q_head,near_bin,far_bin,plasticity,n_triples\n0,0,0,1,0.5,100\n0,1,0,1,0.25,300\n0,0,0,2,0.75,400\n"
        "0,1,0,2,0.75,400\n0,0,1,2,1,40\n");
  FigureOptions map = options(FigureKind::distance);
  EXPECT_TRUE(shows(map, "set cbrange [0.3125:0.75]"));
  EXPECT_TRUE(shows(map, "$hatched << EOD\n1 1 1 2 1 2\nEOD"));
  EXPECT_TRUE(
      shows(map, "2 heads, 40 to 800 triples in a cell\\073 hatched: triples × share of heads with any \\074 30"));
  EXPECT_TRUE(shows(map, "position-exact plasticity, mean of 2 heads"));
  map.min_count = 20;
  EXPECT_TRUE(shows(map, "set cbrange [0.3125:1]"));
  EXPECT_FALSE(shows(map, "hatched"));
  map.min_count = 1000;
  EXPECT_TRUE(shows(map, "set cbrange [0:1]"));  // nothing is coloured
  EXPECT_TRUE(shows(map, "$cells << EOD\nNaN NaN"));
  write("head_metrics.csv", "layer,q_head,k_head,ap_exact,n_triples\n0,0,0,0.5,4096\n1,0,0,0.25,4096\n1,1,0,1,29\n");
  EXPECT_TRUE(shows(options(FigureKind::heads), "set cbrange [0.25:0.5]"));
  EXPECT_TRUE(
      shows(options(FigureKind::heads), "3 heads, 29 to 4,096 triples each\\073 hatched: fewer than 30 triples"));
}

TEST_F(FigureOfARun, LayersAndHeadsSelectInEveryFigure) {
  write("head_bucket_plasticity.csv",
        "layer,q_head,q_bucket,k_bucket,plasticity\n0,0,1,0,0.5\n0,1,1,0,0.25\n1,1,1,0,1\n");
  write("head_time_plasticity.csv", by_time);
  write("head_component_weights.csv", "layer,q_head,component,weight\n0,0,0,1\n0,1,0,0.5\n0,1,1,0.5\n");
  write("head_distance_plasticity.csv", "layer,q_head,near_bin,far_bin,plasticity\n0,0,0,1,0.5\n0,1,0,1,0.25\n");
  write("head_metrics.csv", "layer,q_head,k_head,ap_exact\n0,0,0,0.5\n0,1,0,0.75\n1,1,0,0.25\n");
  for (const FigureKind kind :
       {FigureKind::plasticity, FigureKind::heatmap, FigureKind::components, FigureKind::distance, FigureKind::heads}) {
    FigureOptions one = options(kind);
    one.selection = {{0}, {1}};
    EXPECT_TRUE(shows(one, "1 head (layer 0, head 1)"));
    one.selection = {{7}, {}};
    EXPECT_TRUE(refusal([&] { figure_script(one); }).starts_with("usage: `layers: 7`: the layers of "));
  }
  FigureOptions heads = options(FigureKind::heads);
  heads.selection = {{}, {1}};
  EXPECT_TRUE(shows(heads, "set xtics (\"1\" 0.5)"));
  EXPECT_TRUE(shows(heads, "set ytics (\"0\" 0.5, \"1\" 1.5)"));
  EXPECT_TRUE(shows(heads, "\"2 of 3 heads\""));
  FigureOptions map = options(FigureKind::heatmap);
  map.selection = {{0}, {}};
  EXPECT_TRUE(shows(map, "$cells << EOD\n0 0 0 1 0 1 0.375\nEOD"));
}

TEST_F(FigureOfARun, CaptionsCanBeReplaced) {
  FigureOptions map = options(FigureKind::heatmap);
  EXPECT_TRUE(shows(map, "set label 1 \"1 head (layer 0, head 0)\""));
  map.caption = "mine";
  EXPECT_TRUE(shows(map, "set label 1 \"mine\""));
  map.caption = "";
  EXPECT_FALSE(shows(map, "set label"));
}

TEST_F(FigureOfARun, WrongNamesAndMissingTablesAreRefused) {
  FigureOptions wrong = options(FigureKind::heads);
  wrong.cmap = "virids";
  EXPECT_TRUE(refusal([&] { figure_script(wrong); }).ends_with("did you mean viridis?"));
  wrong.table = folder_ / "none.csv";
  EXPECT_TRUE(refusal([&] { figure_script(wrong); }).ends_with("none.csv: there is no such file or folder"));
}

TEST_F(FigureOfARun, OutputThatIsNotAnImageIsRefused) {
  write("stand-in", "#!/bin/sh\necho no image\n");
  std::filesystem::permissions(folder_ / "stand-in", std::filesystem::perms::owner_all);
  EXPECT_THROW(draw_figure(options(FigureKind::heads), {folder_ / "stand-in"}), Error);
}

}  // namespace
}  // namespace attention_plasticity

#include "attention_plasticity/figure/figure.h"

#include <gtest/gtest.h>

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
  bool shows(const FigureOptions& options, const std::string& text) const {
    return figure_script(options).find(text) != std::string::npos;
  }

  const TemporaryFolder folder_;
};

TEST_F(FigureOfARun, TakesGeometryAndNameFromTheRun) {
  write_run(R"({"strategy": "uniform", "bucket_size": 128.0})");
  const FigureOptions plasticity = options(FigureKind::plasticity);
  EXPECT_TRUE(shows(plasticity, "$mean << EOD\n192 0.5\n320 0.5\nEOD"));
  EXPECT_TRUE(shows(plasticity, "set title \"Attention plasticity by position of the query — lab \\0741\\076\""));
  EXPECT_TRUE(shows(plasticity, "position of the query (tokens)"));
  EXPECT_TRUE(shows(options(FigureKind::heatmap), "set xtics (\"0\" 0, \"128\" 1, \"256\" 2)"));
  EXPECT_TRUE(shows(options(FigureKind::heatmap), "set ytics (\"128\" 0, \"256\" 1, \"384\" 2)"));
  write_run(R"({"strategy": "log", "bucket_size": null})");
  EXPECT_TRUE(shows(plasticity, "set logscale x 2"));
  EXPECT_TRUE(shows(options(FigureKind::heatmap), "set ytics (\"2\" 0, \"4\" 1, \"8\" 2)"));
}

TEST_F(FigureOfARun, CountsBucketsWhenTheirSizeIsUnknown) {
  EXPECT_TRUE(shows(options(FigureKind::plasticity), "set xlabel \"bucket of the query\""));
  EXPECT_TRUE(shows(options(FigureKind::plasticity), "set title \"Attention plasticity by position of the query\" "));
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
  EXPECT_EQ(refusal([&] { figure_script(map); }), "usage: vmin should be below vmax: 1 is not below 1");
  map.vmax.reset();
  EXPECT_EQ(refusal([&] { figure_script(map); }),
            "usage: vmin should be below vmax: the values go from 0.25 to 0.75, the colours from 1 to 0.75");
}

TEST_F(FigureOfARun, OneValueHasAScaleAroundIt) {
  write("head_metrics.csv", "layer,q_head,k_head,ap_exact\n0,0,0,0.5\n");
  EXPECT_TRUE(shows(options(FigureKind::heads), "set cbrange [0.25:0.75]"));
  write("head_metrics.csv", "layer,q_head,k_head,ap_exact\n0,0,0,0\n");
  EXPECT_TRUE(shows(options(FigureKind::heads), "set cbrange [-0.5:0.5]"));
}

TEST_F(FigureOfARun, ComponentsStateTheNumberOfHeads) {
  FigureOptions bars = options(FigureKind::components);
  EXPECT_TRUE(shows(bars, "set ylabel \"share, mean of 1 head\""));
  EXPECT_TRUE(shows(bars, "$bars << EOD\n0 0.25\n1 0.75\nEOD"));
  bars.ylabel = "weight";
  bars.limit = 1;
  EXPECT_TRUE(shows(bars, "set ylabel \"weight\""));
  EXPECT_TRUE(shows(bars, "$bars << EOD\n0 0.25\nEOD"));
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

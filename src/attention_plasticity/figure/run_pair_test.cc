#include "attention_plasticity/figure/run_pair.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "attention_plasticity/base/refusal_testing.h"
#include "attention_plasticity/base/temporary_folder_testing.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

constexpr const char* times_a =
    "layer,q_head,k_head,q_bucket,position,plasticity,n_pairs,ap_exact,ap_exact_se,n_triples\n"
    "0,0,0,1,96,0.5,100,0.25,0.03,100\n"
    "0,0,0,2,160,0.5,100,0.5,0.03,100\n"
    "0,1,0,1,96,0.5,100,0.75,0.03,100\n";
// The second run has no head 1, and one that the first has not.
constexpr const char* times_b =
    "layer,q_head,k_head,q_bucket,position,plasticity,n_pairs,ap_exact,ap_exact_se,n_triples\n"
    "0,0,0,1,96,0.5,100,0.5,0.04,100\n"
    "0,0,0,2,160,0.5,100,0.375,0.04,10\n"
    "0,2,0,1,96,0.5,100,0.875,0.04,100\n";
constexpr const char* distances_a =
    "layer,q_head,k_head,near_bin,far_bin,plasticity,n_triples\n"
    "0,0,0,1,2,0.25,100\n"
    "0,0,0,2,3,0.5,100\n";
constexpr const char* distances_b =
    "layer,q_head,k_head,near_bin,far_bin,plasticity,n_triples\n"
    "0,0,0,1,2,0.75,100\n"
    "0,0,0,2,3,0.375,100\n"
    "0,0,0,3,4,0.5,100\n";

class RunPairFigures : public testing::Test {
 protected:
  RunPairFigures() {
    for (const auto& [name, times, distances] :
         {std::tuple("first", times_a, distances_a), std::tuple("second", times_b, distances_b)}) {
      fs::create_directory(folder_ / name);
      write(folder_ / name / "head_time_plasticity.csv", times);
      write(folder_ / name / "head_distance_plasticity.csv", distances);
      write(folder_ / name / "head_metrics.csv", "layer,q_head,k_head,ap_exact\n0,0,0,0.5\n");
    }
  }

  static void write(const fs::path& file, const std::string& text) { std::ofstream(file) << text; }

  FigureOptions options(FigureKind kind) const {
    FigureOptions options;
    options.kind = kind;
    options.table = folder_ / "first";
    options.against = folder_ / "second";
    options.bucket_min_size = 64;
    return options;
  }

  static bool holds(const std::string& script, const std::string& text) {
    return script.find(text) != std::string::npos ? true : (ADD_FAILURE() << script, false);
  }

  void describe(const char* run, int layers, const char* sampling) const {
    write(
        folder_ / run / "run.json",
        std::string(
            R"({"schema": 1, "files": ["head_metrics.csv", "head_time_plasticity.csv", "head_distance_plasticity.csv"], )") +
            R"("model": {"name": "toy", "num_layers": )" + std::to_string(layers) +
            R"(, "num_q_heads": 3, "num_k_heads": 1, "layers": []}, "heads": {"done": 1, "failed": []}, "sampling": )" +
            sampling + "}");
  }

  TemporaryFolder folder_;
};

TEST_F(RunPairFigures, CurvesAreThoseOfCommonHeadsAndTheirDifference) {
  const std::string script = figure_script(options(FigureKind::plasticity)).text;
  EXPECT_TRUE(holds(script, "$first << EOD\n96 0.25\n160 0.5\nEOD"));
  EXPECT_TRUE(holds(script, "$second << EOD\n96 0.5\n\nEOD")) << "10 triples are little data";
  EXPECT_TRUE(holds(script, "$difference << EOD\n96 0.25\n\nEOD"));
  EXPECT_TRUE(holds(script, "$difference_band << EOD\n96 0.2 0.3\n\nEOD")) << "0.05 = hypot(0.03, 0.04)";
  EXPECT_TRUE(holds(script, "second less first"));
}

TEST_F(RunPairFigures, MapOfDistancesHasBothRunsInOneFrameAndTheirDifferenceCentredAtZero) {
  const std::string script = figure_script(options(FigureKind::distance)).text;
  EXPECT_TRUE(holds(script, "set cbrange [0:1]"));
  EXPECT_TRUE(holds(script, "set cbrange [-0.5:0.5]"));
  // The cell that only the second run has is blank in the difference.
  const std::size_t last = script.rfind("$cells << EOD\n");
  const std::string cells = script.substr(last, script.find("EOD\n", last + 14) - last);
  EXPECT_TRUE(holds(cells, " 0.5\n"));
  EXPECT_TRUE(holds(cells, " -0.125\n"));
  EXPECT_EQ(std::ranges::count(cells, '\n'), 3) << cells;
  EXPECT_EQ(script.find("$cells << EOD\n"), script.find("$cells")) << script;
}

TEST_F(RunPairFigures, RunsThatDoNotFitAreRefused) {
  const char* small = R"({"strategy": "uniform", "bucket_size": 64})";
  const char* large = R"({"strategy": "uniform", "bucket_size": 128})";
  FigureOptions curves = options(FigureKind::plasticity);
  curves.bucket_min_size.reset();
  const std::string first = (folder_ / "first/head_time_plasticity.csv").string();
  const std::string second = (folder_ / "second/head_time_plasticity.csv").string();
  describe("first", 2, small);
  describe("second", 3, small);
  EXPECT_EQ(
      refusal([&] { figure_script(curves); }),
      "input: " + second + ": cannot be drawn against " + first +
          ", since heads are matched by layer and number: it has 3 layers of 3 query heads and 1 key heads, not 2 "
          "layers of 3 query heads and 1 key heads");
  describe("second", 2, large);
  EXPECT_EQ(refusal([&] { figure_script(curves); }), "input: " + second + ": cannot be drawn against " + first +
                                                         ", since positions were sampled in other buckets");
  FigureOptions map = options(FigureKind::heatmap);
  EXPECT_EQ(refusal([&] { figure_script(map); }), "usage: `against` is for the figures plasticity and distance");
  write(folder_ / "second/head_time_plasticity.csv",
        "layer,q_head,k_head,q_bucket,position,plasticity,n_pairs\n1,2,0,1,96,0.5,100\n");
  fs::remove(folder_ / "first/run.json");
  fs::remove(folder_ / "second/run.json");
  EXPECT_EQ(refusal([&] { figure_script(curves); }), "input: " + second + ": has no head in common with " + first);
}

}  // namespace
}  // namespace attention_plasticity

#include "attention_plasticity/results/result_files.h"

#include <gtest/gtest.h>

#include <fstream>

#include "attention_plasticity/base/temporary_folder_testing.h"
#include "attention_plasticity/base/refusal_testing.h"

namespace attention_plasticity {
namespace {

void write(const std::filesystem::path& file, const std::string& text = "x\n") { std::ofstream(file) << text; }

TEST(ResultFiles, UsualNamesAreFoundWithoutRunJson) {
  const TemporaryFolder folder;
  write(folder / "head_metrics.csv");
  write(folder / "head_time_plasticity.csv");
  const ResultFiles files = find_result_files(folder.path());
  EXPECT_EQ(files.metrics, folder / "head_metrics.csv");
  EXPECT_EQ(files.time, folder / "head_time_plasticity.csv");
  EXPECT_FALSE(files.run);
  EXPECT_FALSE(files.buckets);
  EXPECT_FALSE(files.labels);
  EXPECT_EQ(find_result_files(folder / "head_metrics.csv").time, files.time);
}

TEST(ResultFiles, NamesOfTheRunComeFirst) {
  const TemporaryFolder folder;
  for (const char* name : {"m.csv", "head_metrics.csv", "b.csv", "head_bucket_plasticity.csv"}) write(folder / name);
  write(folder / "run.json", R"({"config": {"output_csv": "m.csv", "bucket_csv": "/elsewhere/b.csv", "time_csv": null},
                                 "files": ["out/m.csv", "/elsewhere/b.csv"]})");
  const ResultFiles files = find_result_files(folder.path());
  EXPECT_EQ(files.metrics, folder / "m.csv");
  EXPECT_EQ(files.buckets, folder / "b.csv");
  EXPECT_EQ(files.run, folder / "run.json");
  EXPECT_TRUE(files.notes.empty());
}

TEST(ResultFiles, TableOfAnotherRunIsLeftOut) {
  const TemporaryFolder folder;
  write(folder / "head_metrics.csv");
  write(folder / "head_distance_plasticity.csv");
  write(folder / "run.json", R"({"files": ["out/head_metrics.csv"]})");
  const ResultFiles files = find_result_files(folder.path());
  EXPECT_FALSE(files.distance);
  ASSERT_EQ(files.notes.size(), 1U);
  EXPECT_EQ(files.notes[0], (folder / "head_distance_plasticity.csv").string() +
                                ": left out, since run.json does not name it as a file of its run");
}

TEST(ResultFiles, WithoutMetricsThereIsNothingToShow) {
  const TemporaryFolder folder;
  EXPECT_EQ(refusal([&] { find_result_files(folder / "none"); }),
            "input: " + (folder / "none").string() + ": there is no such folder");
  EXPECT_EQ(refusal([&] { find_result_files(folder.path()); }),
            "input: " + folder.path().string() +
                ": holds no head_metrics.csv; results are what `attention-plasticity analyze` writes to its "
                "--output_dir");
}

}  // namespace
}  // namespace attention_plasticity

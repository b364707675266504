#include "attention_plasticity/results/result_files.h"

#include <gtest/gtest.h>

#include <fstream>

#include "attention_plasticity/base/refusal_testing.h"
#include "attention_plasticity/base/temporary_folder_testing.h"

namespace attention_plasticity {
namespace {

void write(const std::filesystem::path& file, const std::string& text = "x\n") { std::ofstream(file) << text; }

TEST(ResultFiles, UsualNamesAreFoundWithoutRunJson) {
  const TemporaryFolder folder;
  write(folder / "head_metrics.csv");
  write(folder / "head_time_plasticity.csv");
  const ResultFiles files(folder.path());
  EXPECT_EQ(files.find(TableId::metrics), folder / "head_metrics.csv");
  EXPECT_EQ(files.find(TableId::time), folder / "head_time_plasticity.csv");
  EXPECT_FALSE(files.run());
  EXPECT_FALSE(files.find(TableId::buckets));
  EXPECT_FALSE(files.labels());
  EXPECT_EQ(ResultFiles(folder / "head_metrics.csv").find(TableId::time), files.find(TableId::time));
}

TEST(ResultFiles, NamesOfTheRunComeFirst) {
  const TemporaryFolder folder;
  for (const char* name : {"m.csv", "head_metrics.csv", "b.csv", "head_bucket_plasticity.csv"}) write(folder / name);
  write(folder / "run.json", R"({"config": {"output_csv": "m.csv", "bucket_csv": "/elsewhere/b.csv", "time_csv": null},
                                 "files": ["out/m.csv", "/elsewhere/b.csv"]})");
  const ResultFiles files(folder.path());
  EXPECT_EQ(files.find(TableId::metrics), folder / "m.csv");
  EXPECT_EQ(files.find(TableId::buckets), folder / "b.csv");
  EXPECT_EQ(files.run(), folder / "run.json");
  EXPECT_TRUE(files.notes().empty());
}

TEST(ResultFiles, TableOfAnotherRunIsLeftOut) {
  const TemporaryFolder folder;
  write(folder / "head_metrics.csv");
  write(folder / "head_distance_plasticity.csv");
  write(folder / "run.json", R"({"files": ["out/head_metrics.csv"]})");
  const ResultFiles files(folder.path());
  EXPECT_FALSE(files.find(TableId::distance));
  ASSERT_EQ(files.notes().size(), 1U);
  EXPECT_EQ(files.notes()[0], (folder / "head_distance_plasticity.csv").string() +
                                  ": left out, since run.json does not name it as a file of its run");
}

TEST(ResultFiles, SayWhyATableOfAnotherRunIsRefused) {
  const TemporaryFolder folder;
  write(folder / "head_distance_plasticity.csv");
  write(folder / "run.json", R"({"files": ["out/head_metrics.csv"]})");
  EXPECT_EQ(refusal([&] { ResultFiles(folder.path()).table(TableId::distance); }),
            "input: " + (folder / "head_distance_plasticity.csv").string() +
                ": run.json beside it does not name it as a file of its run; give the file itself to use it");
  const ResultFiles given(folder / "head_distance_plasticity.csv", TableId::distance);
  EXPECT_EQ(given.table(TableId::distance), folder / "head_distance_plasticity.csv");
}

TEST(ResultFiles, WithoutMetricsThereIsNothingToShow) {
  const TemporaryFolder folder;
  EXPECT_EQ(refusal([&] { ResultFiles(folder / "none"); }),
            "input: " + (folder / "none").string() + ": there is no such file or folder");
  EXPECT_EQ(refusal([&] { ResultFiles(folder.path()).table(TableId::metrics); }),
            "input: " + folder.path().string() +
                ": holds no head_metrics.csv; results are what `attention-plasticity analyze` writes to its "
                "`output_dir`");
}

}  // namespace
}  // namespace attention_plasticity

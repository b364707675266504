#include "attention_plasticity/sweep/sweep_file.h"

#include <gtest/gtest.h>

#include "attention_plasticity/base/atomic_file.h"
#include "attention_plasticity/base/refusal_testing.h"
#include "attention_plasticity/base/temporary_folder_testing.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

class SweepFile : public ::testing::Test {
 protected:
  std::string file(const std::string& text) const {
    const fs::path path = folder_ / "sweep.yaml";
    write_file_atomically(path, text);
    return path.string();
  }
  Sweep read(const std::string& text, const std::vector<Setting>& flags = {}) const {
    return read_sweep(file(text), flags, [](const std::string& repo) {
      return repo == "org/dumps" ? RepoRefs{{"main", "step-10", "step-9", "x/step-1"}, {"step-100", "v1"}} : RepoRefs{};
    });
  }
  std::string complaint(const std::string& text) const {
    const std::string start = "usage: " + (folder_ / "sweep.yaml").string();
    const std::string told = refusal([&] { read(text); });
    return told.starts_with(start) ? told.substr(start.size()) : told;
  }
  static std::vector<std::string> names(const Sweep& sweep) {
    std::vector<std::string> all;
    for (const SweepRun& run : sweep.runs) all.push_back(run.name);
    return all;
  }

  TemporaryFolder folder_;
};

using Names = std::vector<std::string>;

TEST_F(SweepFile, RunsHaveTheSharedFieldsAndTheirOwn) {
  const Sweep sweep = read(
      "output_dir: out\nseed: 3\nnum_triples: 100\nruns:\n  - {name: a, dataset_local_root: dumps/x, seed: 4}\n"
      "  - dataset_local_root: dumps/y/\n");
  ASSERT_EQ(names(sweep), (Names{"a", "y"}));
  EXPECT_EQ(sweep.output_dir, "out");
  EXPECT_EQ(sweep.runs[0].config.analysis.seed, 4U);
  EXPECT_EQ(sweep.runs[1].config.analysis.seed, 3U);
  EXPECT_EQ(sweep.runs[1].config.analysis.num_triples, 100);
  EXPECT_EQ(sweep.runs[0].config.output_dir, "out/a");
  EXPECT_EQ(sweep.runs[0].config.tables[TableId::metrics], "out/a/head_metrics.csv");
  EXPECT_TRUE(sweep.runs[1].where.ends_with("sweep.yaml:6"));
}

TEST_F(SweepFile, APatternStandsForFoldersOfAStoreThatHoldHeads) {
  for (const char* file : {"step-10/l00h00q/data.parquet", "step-9/l00h00q/data.parquet", "step-9/l00h00k/data.parquet",
                           "step-7/notes.txt", "other/l00h00q/data.parquet"}) {
    fs::create_directories((folder_ / "dumps" / file).parent_path());
    write_file_atomically(folder_ / "dumps" / file, "");
  }
  const std::string address = "file://" + (folder_ / "dumps").string();
  const Sweep sweep = read("output_dir: out\nruns: [{dataset_local_root: '" + address + "/step-*/'}]\n");
  ASSERT_EQ(names(sweep), (Names{"step-9", "step-10"}));
  EXPECT_EQ(sweep.runs[0].config.dataset_address, address + "/step-9");
  const Sweep deep =
      read("output_dir: out\nruns: [{dataset_local_root: 'file://" + folder_.path().string() + "/d*/step-1*'}]\n");
  ASSERT_EQ(names(deep), Names{"dumps"});
  EXPECT_EQ(deep.runs[0].config.dataset_address, address + "/step-10");
  EXPECT_EQ(complaint("output_dir: out\nruns: [{dataset_local_root: '" + address + "/none-*'}]\n"),
            ":2: dataset_local_root: no folder of the store matches this pattern and holds heads");
}

TEST_F(SweepFile, OptionsOfAnAddressAreNoPattern) {
  const Sweep sweep =
      read("output_dir: out\nruns: [{dataset_local_root: 's3://KEY:SECRET@bucket/dumps/x?region=eu-west-1'}]\n");
  ASSERT_EQ(names(sweep), Names{"x"});
  EXPECT_EQ(sweep.runs[0].config.output_dir, "out/x");
  EXPECT_EQ(sweep.runs[0].config.dataset_local_root, "s3://bucket/dumps/x?region=eu-west-1");
}

TEST_F(SweepFile, FlagsWinForAllRuns) {
  const Sweep sweep = read("output_dir: out\nmax_workers: 3\nruns: [{dataset_local_root: x, max_workers: 2}]\n",
                           {{"output_dir", "other", "-o"}, {"max_workers", "1", "--max_workers"}});
  EXPECT_EQ(sweep.output_dir, "other");
  EXPECT_EQ(sweep.runs[0].config.output_dir, "other/x");
  EXPECT_EQ(sweep.runs[0].config.max_workers, 1);
}

TEST_F(SweepFile, APatternOfFoldersIsARunForEachInTheOrderOfNumbers) {
  for (const char* name : {"step-10", "step-9", "step-100", "other", ".step-1"}) {
    fs::create_directories(folder_ / "dumps" / name / "heads");
  }
  write_file_atomically(folder_ / "dumps/step-7", "a file");
  const std::string pattern = (folder_ / "dumps/step-*").string();
  Sweep sweep = read("output_dir: out\nruns: [{dataset_local_root: " + pattern + "}]\n");
  EXPECT_EQ(names(sweep), (Names{"step-9", "step-10", "step-100"}));
  EXPECT_EQ(sweep.runs[0].config.dataset_local_root, (folder_ / "dumps/step-9").string());
  sweep = read("output_dir: out\nruns: [{name: t, dataset_local_root: " + pattern + "/heads}]\n");
  EXPECT_EQ(names(sweep), (Names{"t-step-9", "t-step-10", "t-step-100"}));
  EXPECT_EQ(sweep.runs[2].config.dataset_local_root, (folder_ / "dumps/step-100/heads").string());
}

// 100,000 aliases of an item of 400 kB took 7.9 GB.
TEST_F(SweepFile, ItemsDoNotGrowByAliases) {
  const std::string large(300'000, 'x');
  EXPECT_EQ(
      complaint("output_dir: out\nruns:\n  - &a {name: " + large + "}\n  - *a\n  - *a\n  - *a\n"),
      ": the items of `runs` grow to more than 1 MiB by their aliases; write what they share beside the list, once");
}

// 15,000 runs that shared 500 kB took 7.4 GB.
TEST_F(SweepFile, RunsDoNotMultiplyWhatTheyShare) {
  std::string text = "output_dir: out\nmodel_dir: " + std::string(500'000, 'x') + "\nruns:\n";
  for (int i = 0; i < 200; ++i) text += "  - {name: r" + std::to_string(i) + ", dataset_local_root: d}\n";
  EXPECT_EQ(complaint(text),
            ":138: with this item the settings of the 135 runs grow to more than 64.0 MiB; write shorter values beside "
            "`runs`, which every run has, or split the sweep");
  text = "output_dir: " + std::string(200'000, 'x') + "\nruns:\n";
  for (int i = 0; i < 200; ++i) text += "  - {name: r" + std::to_string(i) + ", dataset_local_root: d}\n";
  EXPECT_NE(complaint(text).find("grow to more than 64.0 MiB"), std::string::npos);
  text = "output_dir: out\nlayers: 0-9999\nruns:\n";
  for (int i = 0; i < 2000; ++i) text += "  - {name: r" + std::to_string(i) + ", dataset_local_root: d}\n";
  EXPECT_NE(complaint(text).find("grow to more than 64.0 MiB"), std::string::npos);
}

TEST_F(SweepFile, HasAtMostTenThousandRuns) {
  std::string text = "output_dir: out\nruns:\n";
  for (int i = 0; i < 10'000; ++i) text += "- {name: r" + std::to_string(i) + ", dataset_local_root: d}\n";
  EXPECT_EQ(read(text).runs.size(), 10'000U);
  EXPECT_EQ(
      complaint(text + "- {dataset_local_root: d}\n"),
      ":10003: with this item the sweep has 10001 runs or more, and at most 10000 are run; split the sweep, or write a "
      "pattern that matches less");
}

// A Hub that named 1.5 million branches took 3.3 GB.
TEST_F(SweepFile, APatternOfRevisionsMatchesAtMostTenThousand) {
  RepoRefs refs;
  for (int i = 0; i < 20'000; ++i) refs.branches.push_back("b" + std::to_string(i));
  const std::string path = file("output_dir: out\ndataset_name: org/dumps\nruns: [{dataset_revision: '*'}]\n");
  const std::string told = refusal([&] { read_sweep(path, {}, [&](const std::string&) { return refs; }); });
  EXPECT_NE(told.find("the sweep has 20000 runs or more, and at most 10000 are run"), std::string::npos) << told;
}

TEST_F(SweepFile, APatternOfRevisionsIsARunForEachBranchAndTag) {
  const Sweep sweep =
      read("output_dir: out\ndataset_name: org/dumps\nruns: [{dataset_revision: '*step-*'}, {dataset_revision: v1}]\n");
  EXPECT_EQ(names(sweep), (Names{"step-9", "step-10", "step-100", "x-step-1", "v1"}));
  EXPECT_EQ(sweep.runs[3].config.dataset_revision, "x/step-1");
}

TEST_F(SweepFile, MistakesAreToldWithTheirLine) {
  EXPECT_EQ(complaint("runs: [{name: a, dataset_local_root: x}]\n"),
            ": has no `output_dir`, the folder for the runs of the sweep");
  EXPECT_EQ(complaint("output_dir: out\n"), ": has no list `runs` with an item for each run");
  EXPECT_EQ(complaint("output_dir: out\nruns: []\n"), ": has no list `runs` with an item for each run");
  EXPECT_EQ(complaint("output_dir: out\nruns: [a]\n"), ":2: an item of `runs` is a mapping of fields to values");
  EXPECT_EQ(complaint("output_dir: out\nruns:\n  - nme: a\n"), ":3: nme: unknown key; did you mean name?");
  EXPECT_EQ(complaint("output_dir: out\nsede: 1\nruns: [{name: a}]\n"), ":2: sede: unknown key; did you mean seed?");
  EXPECT_EQ(complaint("output_dir: out\nruns:\n  - {name: a, seed: x, dataset_local_root: d}\n").substr(0, 10),
            ":3: seed: ");
  EXPECT_EQ(complaint("output_dir: out\nruns:\n  - {name: a, dataset_local_root: x}\n  - {seed: 1}\n"),
            ":4: names no dump: `dataset_local_root`, or `dataset_name`");
  EXPECT_EQ(complaint("output_dir: out\nruns:\n  - {dataset_local_root: x, output_dir: y}\n"),
            ":3: output_dir: a run of a sweep has its own folder below that of the sweep, by its name");
  EXPECT_EQ(complaint("output_dir: out\nruns:\n  - {dataset_local_root: nowhere/*}\n"),
            ":3: dataset_local_root: no folder matches this pattern");
  EXPECT_EQ(complaint("output_dir: out\nruns:\n  - {dataset_name: org/dumps, dataset_revision: z*}\n"),
            ":3: dataset_revision: no branch or tag of 'org/dumps' matches this pattern");
  EXPECT_EQ(complaint("output_dir: out\nruns:\n  - {name: a/b, dataset_local_root: x}\n"),
            ":3: 'a/b' cannot be the name of a run, which is a folder's; give it another `name`");
  EXPECT_EQ(complaint("output_dir: out\nruns: [{}]\nruns: [{}]\n"), ":3: runs: repeats the key of line 2");
}

TEST_F(SweepFile, NamesMustDiffer) {
  const std::string told =
      complaint("output_dir: out\nruns:\n  - {dataset_local_root: x/a}\n  - {dataset_local_root: y/a}\n");
  EXPECT_TRUE(told.starts_with(":4: the name 'a' is that of a run of ")) << told;
  EXPECT_TRUE(told.ends_with("sweep.yaml:3 already; names must differ")) << told;
}

TEST(SweepPattern, StarsAndQuestionMarks) {
  EXPECT_TRUE(matches_pattern("step-100", "step-*"));
  EXPECT_TRUE(matches_pattern("step-100", "*-1*0"));
  EXPECT_TRUE(matches_pattern("", "*"));
  EXPECT_TRUE(matches_pattern("abc", "a?c"));
  EXPECT_TRUE(matches_pattern("abcabd", "*ab?"));
  EXPECT_FALSE(matches_pattern("step-100", "step"));
  EXPECT_FALSE(matches_pattern("step", "step-*"));
  EXPECT_FALSE(matches_pattern("ac", "a?c"));
  EXPECT_FALSE(matches_pattern("abcabd", "*abc"));
}

TEST(SweepPattern, NumbersAreInTheirOwnOrder) {
  EXPECT_TRUE(comes_before("step-9", "step-10"));
  EXPECT_TRUE(comes_before("step-09", "step-10"));
  EXPECT_TRUE(comes_before("a2b10", "a2b11"));
  EXPECT_TRUE(comes_before("a", "b"));
  EXPECT_TRUE(comes_before("a", "a1"));
  EXPECT_FALSE(comes_before("step-10", "step-9"));
  EXPECT_FALSE(comes_before("step-9", "step-9"));
  EXPECT_NE(comes_before("step-9", "step-09"), comes_before("step-09", "step-9"));
}

}  // namespace
}  // namespace attention_plasticity

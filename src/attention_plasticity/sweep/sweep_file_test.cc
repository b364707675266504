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

TEST_F(SweepFile, APatternOfAStoreIsRefused) {
  EXPECT_EQ(
      complaint("output_dir: out\nruns: [{dataset_local_root: 's3://bucket/step-*?region=eu-west-1'}]\n"),
      ":2: dataset_local_root: a pattern stands for folders on disk only; write an item of `runs` for each folder "
      "of the store");
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

TEST_F(SweepFile, HasAtMostTenThousandRuns) {
  std::string text = "output_dir: out\nruns:\n";
  for (int i = 0; i < 10'000; ++i) text += "- {name: r" + std::to_string(i) + ", dataset_local_root: d}\n";
  EXPECT_EQ(read(text).runs.size(), 10'000U);
  EXPECT_EQ(complaint(text + "- {dataset_local_root: d}\n"),
            ":10003: with this item the sweep has more than 10000 runs; split the sweep, or write a pattern that "
            "matches less");
}

// A Hub that named 1.5 million branches took 3.3 GB.
TEST_F(SweepFile, APatternOfRevisionsMatchesAtMostTenThousand) {
  RepoRefs refs;
  for (int i = 0; i < 20'000; ++i) refs.branches.push_back("b" + std::to_string(i));
  const std::string path = file("output_dir: out\ndataset_name: org/dumps\nruns: [{dataset_revision: '*'}]\n");
  const std::string told = refusal([&] { read_sweep(path, {}, [&](const std::string&) { return refs; }); });
  EXPECT_NE(told.find("the sweep has more than 10000 runs"), std::string::npos) << told;
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

TEST_F(SweepFile, RunsOfAPatternAreInTheOrderOfNumbers) {
  for (const char* name : {"a2b10", "a2b9", "a10b1", "b", "step-0010", "step-0009"}) {
    fs::create_directories(folder_ / "dumps" / name);
  }
  const Sweep sweep = read("output_dir: out\nruns: [{dataset_local_root: " + (folder_ / "dumps/*/").string() + "}]\n");
  EXPECT_EQ(names(sweep), (Names{"a2b9", "a2b10", "a10b1", "b", "step-0009", "step-0010"}));
  EXPECT_EQ(sweep.runs[3].config.dataset_local_root, (folder_ / "dumps/b").string());
}

TEST_F(SweepFile, NoTwoRunsWriteTheSameFile) {
  const std::string two =
      "runs:\n  - {name: a, dataset_local_root: x}\n  - {name: b, dataset_local_root: x, seed: 2}\n";
  const std::string advice =
      "; leave the paths of tables out, which then go into the folder of each run, or give each run its own";
  EXPECT_EQ(complaint("output_dir: out\noutput_csv: /tmp/x/m.csv\n" + two),
            ":5: the runs 'a' and 'b' would both write '/tmp/x/m.csv'" + advice);
  EXPECT_EQ(complaint("output_dir: out\ntime_csv: /tmp/x/t.csv\n" + two),
            ":5: the runs 'a' and 'b' would both write '/tmp/x/t.csv'" + advice);
  EXPECT_TRUE(complaint("output_dir: out\nruns:\n  - {name: a, dataset_local_root: x}\n"
                        "  - {name: b, dataset_local_root: x, time_csv: /tmp/../" +
                        fs::absolute("out/a/head_metrics.csv").string() + "}\n")
                  .starts_with(":4: the runs 'a' and 'b' would both write "));
  EXPECT_TRUE(complaint("output_dir: out\nruns:\n  - {name: a, dataset_local_root: x, output_csv: /tmp/x/a.csv}\n"
                        "  - {name: b, dataset_local_root: x, output_csv: /tmp/x/b.csv}\n")
                  .starts_with(":4: the runs 'a' and 'b' would both write '/tmp/x/"));
  EXPECT_EQ(read("output_dir: out\noutput_csv: m.csv\n" + two).runs.size(), 2U);
}

}  // namespace
}  // namespace attention_plasticity

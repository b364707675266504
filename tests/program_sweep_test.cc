// sweep: many runs, one index, and what becomes of both when something fails, changes or is interrupted.

#include <gtest/gtest.h>

#include <csignal>

#include "attention_plasticity/base/atomic_file.h"
#include "attention_plasticity/base/text_file.h"
#include "program_support.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

class ProgramSweep : public ProgramTest {
 protected:
  void SetUp() override {
    for (const char* name : {"step-10", "step-9"}) copy_dump(name);
  }
  void copy_dump(const std::string& name) const {
    fs::create_directories(here_ / "dumps");
    fs::copy(dump(), here_ / "dumps" / name, fs::copy_options::recursive);
  }
  void write_sweep(const std::string& runs, const std::string& fields = "num_triples: 50\n") const {
    write_file_atomically(here_ / "sweep.yaml", "output_dir: out\n" + fields + "runs:\n" + runs);
  }
  std::string text(const std::string& file) const { return read_text_file(here_ / file, 1 << 24); }
  std::vector<std::string> states() const {
    std::vector<std::string> found;
    for (const std::string& line : lines_of(text("out/sweep.csv"))) {
      const std::size_t first = line.find(',');
      found.push_back(line.substr(0, line.find(',', first + 1)));
    }
    found.erase(found.begin());
    return found;
  }
};

using Lines = std::vector<std::string>;
constexpr const char* both = "  - {dataset_local_root: dumps/step-*}\n";

TEST_F(ProgramSweep, EachRunIsThatOfAnalyze) {
  write_sweep(both);
  const Outcome outcome = run({"sweep", "sweep.yaml"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "2 of 2 runs done, 0 failed: out/sweep.csv\n");
  EXPECT_EQ(lines_starting(outcome.err, "["), (Lines{"[1/2] step-9: 8 heads", "[2/2] step-10: 8 heads"}));
  EXPECT_EQ(states(), (Lines{"step-9,done", "step-10,done"}));
  EXPECT_EQ(run({"analyze", "--dataset_local_root", "dumps/step-9", "--num_triples", "50", "-o", "alone"}).code, 0);
  std::size_t tables = 0;
  for (const std::string& name : names_in(here_ / "alone")) {
    if (!name.ends_with(".csv")) continue;
    ++tables;
    EXPECT_EQ(text("out/step-9/" + name), text("alone/" + name)) << name;
  }
  EXPECT_GE(tables, 5U);
  EXPECT_EQ(names_in(here_ / "out"), (Lines{"step-10", "step-9", "sweep.csv", "sweep.json"}));
}

TEST_F(ProgramSweep, FinishedRunsAreNotDoneAgainAndChangedOnesAre) {
  write_sweep(both);
  ASSERT_EQ(run({"sweep", "sweep.yaml"}).code, 0);
  const std::string index = text("out/sweep.json");
  const auto written = fs::last_write_time(here_ / "out/step-9/run.json");
  Outcome again = run({"sweep", "sweep.yaml"});
  EXPECT_EQ(again.code, 0);
  EXPECT_EQ(lines_starting(again.err, "["),
            (Lines{"[1/2] step-9: 8 heads, done before", "[2/2] step-10: 8 heads, done before"}));
  EXPECT_EQ(text("out/sweep.json"), index);
  EXPECT_EQ(fs::last_write_time(here_ / "out/step-9/run.json"), written);
  write_sweep("  - {dataset_local_root: dumps/step-9, seed: 5}\n  - {dataset_local_root: dumps/step-10}\n");
  again = run({"sweep", "sweep.yaml"});
  EXPECT_EQ(lines_starting(again.err, "["), (Lines{"[1/2] step-9: 8 heads", "[2/2] step-10: 8 heads, done before"}));
  // A file of the dump that changes.
  fs::last_write_time(here_ / "dumps/step-10/l00h00q/data.parquet",
                      fs::file_time_type::clock::now() + std::chrono::seconds(5));
  again = run({"sweep", "sweep.yaml"});
  EXPECT_EQ(lines_starting(again.err, "["), (Lines{"[1/2] step-9: 8 heads, done before", "[2/2] step-10: 8 heads"}));
}

TEST_F(ProgramSweep, AFailedRunCostsItself) {
  fs::create_directories(here_ / "dumps/step-1");
  write_sweep(both);
  Outcome outcome = run({"sweep", "sweep.yaml"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(states(), (Lines{"step-1,failed", "step-9,done", "step-10,done"}));
  EXPECT_EQ(outcome.out, "2 of 3 runs done, 1 failed: out/sweep.csv\n");
  EXPECT_TRUE(first_line(outcome.err).starts_with("[1/3] step-1 failed: dumps/step-1: ")) << outcome.err;
  write_sweep("  - {dataset_local_root: dumps/step-1}\n");
  outcome = run({"sweep", "sweep.yaml"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(states(), (Lines{"step-1,failed"}));
}

TEST_F(ProgramSweep, AFailedHeadIsInTheIndexAndMendedByTheSameCommand) {
  const fs::path file = here_ / "dumps/step-9/l00h01q/data.parquet";
  const std::string whole = read_text_file(file, 1 << 24);
  write_file_atomically(file, whole.substr(0, whole.size() - 8));
  write_sweep(both);
  Outcome outcome = run({"sweep", "sweep.yaml", "--quiet"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(lines_of(text("out/sweep.csv"))[1].starts_with("step-9,done,step-9,7,1,")) << text("out/sweep.csv");
  EXPECT_NE(text("out/sweep.csv").find("1 head failed; the first, layer 0 q_head 1: "), std::string::npos);
  write_file_atomically(file, whole);
  outcome = run({"sweep", "sweep.yaml"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.err.find("step-9: resuming: 7 of 8 heads are saved"), std::string::npos) << outcome.err;
}

TEST_F(ProgramSweep, ADryRunShowsRunsAndWritesNothing) {
  write_sweep(both);
  Outcome outcome = run({"sweep", "sweep.yaml", "--dry-run"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            "step-9: to do; 8 heads of dumps/step-9\nstep-10: to do; 8 heads of dumps/step-10\n# 2 runs, below out\n");
  EXPECT_FALSE(fs::exists(here_ / "out"));
  ASSERT_EQ(run({"sweep", "sweep.yaml"}).code, 0);
  outcome = run({"sweep", "sweep.yaml", "--dry-run"});
  EXPECT_EQ(first_line(outcome.out), "step-9: done; 8 heads of dumps/step-9");
}

TEST_F(ProgramSweep, AnInterruptedSweepGoesOn) {
  write_sweep(both, "num_triples: 300000\nmax_workers: 1\n");
  Surroundings surroundings;
  surroundings.folder = here_.path();
  RunningProgram running({"sweep", "sweep.yaml"}, surroundings);
  running.wait_for("[1/2]");
  running.send(SIGINT);
  const Outcome outcome = running.finish();
  EXPECT_EQ(outcome.code, 130) << outcome.err;
  EXPECT_EQ(last_line(outcome.err), "interrupted: 1 of 2 runs are done; the same command goes on");
  EXPECT_EQ(states(), (Lines{"step-9,done", "step-10,to do"}));
  write_sweep(both, "num_triples: 300000\n");
  const Outcome rest = run({"sweep", "sweep.yaml"});
  EXPECT_EQ(rest.code, 0);
  EXPECT_EQ(lines_starting(rest.err, "[1/2]"), (Lines{"[1/2] step-9: 8 heads, done before"}));
  EXPECT_EQ(states(), (Lines{"step-9,done", "step-10,done"}));
}

TEST_F(ProgramSweep, WrongUseEndsBeforeAnyRun) {
  const auto complaint = [&](const std::vector<std::string>& arguments) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 2);
    return first_line(outcome.err);
  };
  EXPECT_EQ(complaint({"sweep"}), "attention-plasticity: sweep takes one YAML file with the runs: sweep.yaml");
  write_sweep("  - {dataset_local_rot: x}\n");
  EXPECT_EQ(complaint({"sweep", "sweep.yaml"}),
            "attention-plasticity: sweep.yaml:4: dataset_local_rot: unknown key; did you mean dataset_local_root?");
  write_sweep(both);
  EXPECT_EQ(complaint({"sweep", "sweep.yaml", "--address", "x:1"}),
            "attention-plasticity: --address is that of a Ray cluster; pass --engine ray too");
  EXPECT_EQ(complaint({"sweep", "sweep.yaml", "--engine", "ray"}),
            "attention-plasticity: --engine ray takes the Python package: pip install 'attention-plasticity[ray]', and "
            "start the attention-plasticity that comes with it");
  EXPECT_FALSE(fs::exists(here_ / "out"));
  EXPECT_EQ(complaint(analyze_words(dump(), {"--engine", "ray", "--shard", "1/2"})),
            "attention-plasticity: --engine ray places the heads by itself; leave out --shard");
}

TEST_F(ProgramSweep, RunsThatWouldReplaceEachOthersFilesAreRefused) {
  write_sweep(
      "  - {name: a, dataset_local_root: dumps/step-9}\n  - {name: b, dataset_local_root: dumps/step-9, seed: 5}\n",
      "output_csv: " + (here_ / "all/m.csv").string() + "\n");
  for (const bool is_dry : {false, true}) {
    const Outcome outcome = is_dry ? run({"sweep", "sweep.yaml", "--dry-run"}) : run({"sweep", "sweep.yaml"});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_TRUE(first_line(outcome.err)
                    .starts_with("attention-plasticity: sweep.yaml:5: the runs 'a' and 'b' would both write '"))
        << outcome.err;
  }
  EXPECT_EQ(names_in(here_.path()), (Lines{"dumps", "sweep.yaml"}));
}

TEST_F(ProgramSweep, ALineFeedInANameIsSpelledOut) {
  copy_dump("x\ny: done");
  write_sweep("  - {dataset_local_root: dumps/x*}\n", "num_triples: 0\n");
  const Outcome dry = run({"sweep", "sweep.yaml", "--dry-run"});
  EXPECT_EQ(lines_of(dry.out), (Lines{"x\\ny: done: to do; 8 heads of dumps/x\\ny: done", "# 1 run, below out"}));
  const Outcome outcome = run({"sweep", "sweep.yaml"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(lines_starting(outcome.err, "["), (Lines{"[1/1] x\\ny: done: 8 heads"}));
  EXPECT_TRUE(lines_starting(outcome.err, "y: done").empty()) << outcome.err;
  EXPECT_TRUE(fs::exists(here_ / "out/x\ny: done/run.json"));
  write_sweep("  - {dataset_local_root: dumps/step-9}\n", "output_csv: x\n");
  EXPECT_EQ(run({"sweep", "sweep.yaml", "-o", "out\nz"}).out, "1 of 1 run done, 0 failed: out\\nz/sweep.csv\n");
}

TEST_F(ProgramSweep, CompareFollowsTheFinishedRunsOfASweep) {
  fs::create_directories(here_ / "dumps/step-1");
  write_sweep(both);
  ASSERT_EQ(run({"sweep", "sweep.yaml"}).code, 1);
  const Outcome sweep = run({"compare", "--series", "out"});
  EXPECT_EQ(sweep.code, 0) << sweep.err;
  const Outcome listed = run({"compare", "--series", "out/step-9", "out/step-10"});
  EXPECT_EQ(sweep.out, listed.out);
  EXPECT_NE(sweep.err.find("out: 1 of 3 runs of this sweep is not done and left out"), std::string::npos) << sweep.err;
}

// A process that answers as an engine does.
TEST_F(ProgramSweep, AnEngineThatFailsIsAFailureOfTheRun) {
  write_file_atomically(here_ / "engine",
                        "#!/bin/sh\necho '{\"told\": \"ready\"}'\nread request\n"
                        "echo '{\"told\": \"error\", \"exit_code\": 3, \"line\": \"node x: no dump\", "
                        "\"file\": \"\"}'\n");
  fs::permissions(here_ / "engine", fs::perms::owner_all);
  write_sweep("  - {dataset_local_root: dumps/step-9}\n");
  Surroundings surroundings;
  surroundings.environment = {"ATTENTION_PLASTICITY_PYTHON=" + (here_ / "engine").string()};
  const Outcome outcome = run({"sweep", "sweep.yaml", "--engine", "ray"}, surroundings);
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_EQ(lines_starting(outcome.err, "["), (Lines{"[1/1] step-9 failed: node x: no dump"}));
}

TEST_F(ProgramSweep, AnEngineThatEndsWithoutAWordEndsTheSweep) {
  write_sweep(both);
  Surroundings surroundings;
  surroundings.environment = {"ATTENTION_PLASTICITY_PYTHON=/bin/true"};
  const Outcome outcome = run({"sweep", "sweep.yaml", "--engine", "ray"}, surroundings);
  EXPECT_EQ(outcome.code, 5);
  EXPECT_EQ(outcome.err, "attention-plasticity: the engine ended without a word; its own lines stand above\n");
}

}  // namespace
}  // namespace attention_plasticity

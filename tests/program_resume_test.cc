// Runs that end early and go on.

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <thread>

#include "attention_plasticity/results/schema.h"
#include "attention_plasticity/synth/synthetic_dump.h"
#include "places.h"
#include "program_support.h"
#include "same_results.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

class ProgramResume : public ProgramTest {
 protected:
  static void SetUpTestSuite() {}
  static void TearDownTestSuite() {}

  void write_dump(int layers, int q_heads) const {
    SynthOptions options;
    options.layers = layers;
    options.q_heads = q_heads;
    options.k_heads = 2;
    options.rows = 240;
    options.dim = 16;
    options.examples = 12;
    options.buckets = 4;
    options.bucket_size = 16;
    options.truth_pairs = 0;
    write_synthetic_dump(here_ / "dump", options);
  }

  // A head takes some milliseconds, so that kills come while heads are measured.
  static std::vector<std::string> words(const std::vector<std::string>& others = {}) {
    std::vector<std::string> all = analyze_words(
        "dump", {"--max_workers", "2", "--sampler", "local", "--num_pairs_per_bucket", "2000", "--output_dir", "out"});
    all.insert(all.end(), others.begin(), others.end());
    return all;
  }

  Surroundings surroundings() const {
    Surroundings here;
    here.folder = here_.path();
    return here;
  }

  fs::path kept() const { return here_ / "out" / ".attention-plasticity-heads"; }
};

// The heads that a run says it has finished: "layer 0 q_head 3".
std::vector<std::string> finished_heads(const std::string& err) {
  std::vector<std::string> heads;
  for (const std::string& line : lines_starting(err, "[")) {
    const std::size_t begin = line.find("layer");
    heads.push_back(line.substr(begin, line.find(" k_head") - begin));
  }
  return heads;
}

TEST_F(ProgramResume, ThirtyKillsEndInTheBytesOfAnUninterruptedRun) {
  // Some three times the heads that 30 runs finish before they are killed.
  constexpr int layers = 8;
  constexpr int q_heads = 32;
  constexpr int heads = layers * q_heads;
  constexpr int kills = 30;
  write_dump(layers, q_heads);
  // So that heads are measured a second time, for the error of the model.
  give_other_documents(here_ / "dump");
  ASSERT_EQ(run(words({"--quiet"})).code, 0);
  fs::rename(here_ / "out", here_ / "one");

  std::mt19937 random(20240607);
  std::set<std::string> seen;
  int killed = 0;
  for (int attempt = 0; attempt < kills; ++attempt) {
    const int before = fs::exists(kept()) ? static_cast<int>(names_in(kept()).size()) - 1 : 0;
    RunningProgram program(words({"--resume"}), surroundings());
    // Some more heads, and then any moment of the next ones.
    const int more = static_cast<int>(random() % 4);
    if (more > 0) program.wait_for(fmt::format("[{}/{}]", before + more, heads));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 8000));
    program.send(SIGKILL);
    const Outcome outcome = program.finish();
    killed += outcome.signal == SIGKILL ? 1 : 0;
    for (const std::string& head : finished_heads(outcome.err)) {
      EXPECT_TRUE(seen.insert(head).second) << head << " was finished before attempt " << attempt;
    }
  }
  EXPECT_EQ(killed, kills) << "the dump is too small for so many kills";
  const Outcome last = run(words({"--resume"}));
  EXPECT_EQ(last.code, 0) << last.err;
  for (const std::string& head : finished_heads(last.err)) EXPECT_TRUE(seen.insert(head).second) << head;
  EXPECT_LE(seen.size(), static_cast<std::size_t>(heads));
  EXPECT_GE(seen.size() + 2 * kills, static_cast<std::size_t>(heads))
      << "a kill may come before the line of a kept head";
  expect_same_results(here_ / "out", here_ / "one");
  EXPECT_FALSE(fs::exists(kept()));
  EXPECT_EQ(names_in(here_ / "out"), names_in(here_ / "one"));
}

TEST_F(ProgramResume, InterruptedRunSaysHowToGoOn) {
  write_dump(1, 16);
  ASSERT_EQ(run(words({"--quiet"})).code, 0);
  fs::rename(here_ / "out", here_ / "one");
  RunningProgram program(words({"--num_pairs_per_bucket", "20000", "--labels", "no such.csv", "--labels", "null"}),
                         surroundings());
  program.wait_for("[1/16]");
  program.send(SIGINT);
  const Outcome outcome = program.finish();
  ASSERT_EQ(outcome.code, 130) << outcome.err;
  const std::string how = last_line(outcome.err);
  EXPECT_EQ(how,
            "to go on: attention-plasticity analyze --dataset_local_root dump --max_workers 2 --sampler local "
            "--num_pairs_per_bucket 2000 --output_dir out --num_pairs_per_bucket 20000 --labels 'no such.csv' --labels "
            "null --resume");
  EXPECT_TRUE(fs::exists(kept()));

  const Outcome different = run(words({"--resume"}));
  EXPECT_EQ(different.code, 2);
  EXPECT_NE(different.err.find("of another run: --num_pairs_per_bucket was 20000 and is 2000; run without --resume "
                               "to start afresh"),
            std::string::npos)
      << different.err;

  Surroundings shell = surroundings();
  shell.program = "/bin/bash";
  const std::string command = built_program() + how.substr(how.find(" analyze"));
  const Outcome resumed = run_program({"-c", command}, shell);
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_NE(resumed.err.find("of 16 heads are saved\n"), std::string::npos) << resumed.err;
  EXPECT_EQ(names_in(here_ / "out"), names_in(here_ / "one"));
}

TEST_F(ProgramResume, CompleteRunIsLeftAlone) {
  write_dump(1, 4);
  EXPECT_EQ(run(words({"--resume"})).code, 0) << "nothing is kept: it starts afresh";
  const auto time = fs::last_write_time(here_ / "out" / "run.json");
  const Outcome again = run(words({"--resume"}));
  EXPECT_EQ(again.code, 0);
  EXPECT_EQ(again.err, "out/run.json: this run is complete; nothing is left to do\n");
  EXPECT_EQ(again.out, "");
  EXPECT_EQ(fs::last_write_time(here_ / "out" / "run.json"), time);
  // Another configuration is another run.
  const Outcome other = run(words({"--resume", "--seed", "1"}));
  EXPECT_EQ(other.code, 0);
  EXPECT_EQ(finished_heads(other.err).size(), 4U);
}

TEST_F(ProgramResume, OnlyFailedHeadsAreTriedAgain) {
  write_dump(1, 4);
  ASSERT_EQ(run(words({"--quiet"})).code, 0);
  fs::rename(here_ / "out", here_ / "one");
  const fs::path file = here_ / "dump" / "l00h01q" / "data.parquet";
  const std::string bytes = read_bytes(file);
  const auto time = fs::last_write_time(file);
  write_bytes(file, "no parquet");
  EXPECT_EQ(run(words()).code, 1);
  EXPECT_TRUE(fs::exists(kept())) << "for the head that failed";
  write_bytes(file, bytes);
  fs::last_write_time(file, time);
  const Outcome resumed = run(words({"--resume"}));
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(finished_heads(resumed.err), std::vector<std::string>{"layer 0 q_head 1"});
  expect_same_results(here_ / "out", here_ / "one");
  EXPECT_FALSE(fs::exists(kept()));
}

}  // namespace
}  // namespace attention_plasticity

// Runs that get a signal to stop.

#include <fmt/format.h>

#include <array>
#include <csignal>
#include <limits>
#include <nlohmann/json.hpp>

#include "attention_plasticity/dump/head_file.h"
#include "attention_plasticity/dump/head_file_writer.h"
#include "attention_plasticity/results/schema.h"
#include "attention_plasticity/synth/synthetic_dump.h"
#include "places.h"
#include "program_support.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

// The tables that have the same number of rows for every head.
constexpr std::array tables{"head_bucket_plasticity", "head_component_weights", "head_metrics", "head_time_plasticity"};
constexpr std::size_t heads = 16;

class ProgramSignal : public ProgramTest {
 protected:
  static void SetUpTestSuite() {}
  static void TearDownTestSuite() {}

  /// Many documents make standard errors slow, so that a signal arrives while a head is being analysed.
  void SetUp() override {
    SynthOptions options;
    options.layers = 1;
    options.q_heads = heads;
    options.k_heads = 1;
    options.rows = 400;
    options.dim = 16;
    options.examples = 20;
    options.buckets = 4;
    options.bucket_size = 16;
    options.truth_pairs = 0;
    write_synthetic_dump(here_ / "dump", options);
    surroundings_.folder = here_.path();
  }

  static std::vector<std::string> slow_words(const std::vector<std::string>& others = {}) {
    std::vector<std::string> words = analyze_words(
        "dump", {"--max_workers", "1", "--sampler", "local", "--num_pairs_per_bucket", "10000", "--output_dir", "out"});
    words.insert(words.end(), others.begin(), others.end());
    return words;
  }

  fs::path table(const std::string& name) const { return here_ / "out" / name; }

  Surroundings surroundings_;
};

/// The lines of a table that belong to a head of layer 0.
std::vector<std::string> rows_of(const fs::path& file, std::size_t head) {
  return lines_starting(read_bytes(file), fmt::format("0,{},", head));
}

/// Expects that `partial` holds the first `finished` heads and no others: one worker takes heads in order. `complete`
/// holds at least the first head.
void expect_whole_heads(const fs::path& partial, const fs::path& complete, std::size_t finished) {
  const std::string text = read_bytes(partial);
  ASSERT_TRUE(text.ends_with('\n')) << partial;
  EXPECT_EQ(first_line(text), first_line(read_bytes(complete)));
  const std::vector<std::string> first = rows_of(complete, 0);
  ASSERT_FALSE(first.empty());
  EXPECT_EQ(rows_of(partial, 0), first);
  for (std::size_t head = 0; head < finished; ++head) EXPECT_EQ(rows_of(partial, head).size(), first.size()) << partial;
  EXPECT_EQ(lines_of(text).size(), 1 + finished * first.size()) << partial;
}

TEST_F(ProgramSignal, FirstOneKeepsFinishedHeadsAndEarlierResults) {
  ASSERT_EQ(run(slow_words({"--quiet", "--q_heads", "0"})).code, 0);
  std::vector<std::string> earlier;
  for (const std::string& name : names_in(here_ / "out")) earlier.push_back(read_bytes(table(name)));

  for (const auto& [signal, code] :
       {std::pair{SIGINT, 130}, std::pair{SIGTERM, 143}, std::pair{SIGHUP, 129}, std::pair{SIGPIPE, 141}}) {
    RunningProgram program(slow_words(), surroundings_);
    program.wait_for(fmt::format("[1/{}]", heads));
    program.send(signal);
    const Outcome outcome = program.finish();
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(is_plain_text(outcome.err)) << outcome.err;
    EXPECT_EQ(lines_starting(outcome.err, "stopping; finished heads are saved; interrupt again to quit at once").size(),
              1U);
    const std::size_t finished = lines_starting(outcome.err, "[").size();
    ASSERT_GE(finished, 1U);
    ASSERT_LT(finished, heads) << "the signal came too late to test anything";
    const std::vector<std::string> interrupted = lines_starting(outcome.err, "interrupted");
    EXPECT_EQ(interrupted, std::vector<std::string>{fmt::format(
                               "interrupted: {} of {} heads are in out/head_metrics.partial.csv", finished, heads)});
    EXPECT_TRUE(last_line(outcome.err).starts_with("to go on: attention-plasticity analyze ")) << outcome.err;
    EXPECT_TRUE(last_line(outcome.err).ends_with(" --resume")) << outcome.err;
    for (const std::string name : tables) {
      expect_whole_heads(table(name + ".partial.csv"), table(name + ".csv"), finished);
    }
    EXPECT_EQ(nlohmann::json::parse(read_bytes(table("run.partial.json")))["heads"]["done"], finished);
    EXPECT_EQ(names_in(here_ / "out").size(), 2 * (table_count + 1) + 1) << "no temporary files are left";
  }

  const Outcome page = run({"report", "out/head_metrics.partial.csv", "--output", "page.html"});
  EXPECT_EQ(page.code, 0) << page.err;
  EXPECT_EQ(page.err, "");
  EXPECT_NE(
      run({"report", "out", "--output", "page.html"})
          .err.find("out/head_metrics.partial.csv: left by a later run that was interrupted; give this file to use it"),
      std::string::npos);

  std::vector<std::string> afterwards;
  for (const std::string& name : names_in(here_ / "out")) {
    const bool is_kept = name.starts_with(".");
    if (!is_kept && name.find(".partial.") == std::string::npos) afterwards.push_back(read_bytes(table(name)));
  }
  EXPECT_EQ(afterwards, earlier);
  ASSERT_EQ(run(slow_words({"--quiet", "--q_heads", "0"})).code, 0);
  EXPECT_EQ(names_in(here_ / "out").size(), table_count + 1) << "a complete run clears partial results away";
}

TEST_F(ProgramSignal, SecondOneQuitsAtOnce) {
  // The note about a dropped row shows that the analysis of the first head has begun.
  const fs::path file = here_ / "dump" / "l00h00q" / "data.parquet";
  HeadRows rows = read_head_file(file, Side::query).rows;
  rows.vectors.front() = std::numeric_limits<float>::quiet_NaN();
  write_head_file(file, rows);
  RunningProgram program(slow_words({"--num_pairs_per_bucket", "1000000", "--non_finite", "drop"}), surroundings_);
  program.wait_for("dropped 1 of 400 rows");
  // Both wait until the program goes on, so that it cannot finish between them. SIGINT is taken first: signals that
  // wait are taken in the order of their numbers.
  for (const int signal : {SIGSTOP, SIGINT, SIGTERM, SIGCONT}) program.send(signal);
  const Outcome outcome = program.finish();
  EXPECT_EQ(outcome.signal, SIGTERM) << outcome.code << "\n" << outcome.err;
  EXPECT_TRUE(outcome.err.ends_with("stopping; finished heads are saved; interrupt again to quit at once\n"))
      << outcome.err;
  // The folder of a commit that had begun may be left.
  for (const std::string& name : names_in(here_ / "out")) EXPECT_TRUE(name.starts_with('.')) << name;
}

TEST_F(ProgramSignal, UnderNohupARunGoesOn) {
  std::vector<std::string> words{"-c", R"(trap '' HUP; exec "$0" "$@")", built_program()};
  const std::vector<std::string> arguments = slow_words({"--q_heads", "0,1"});
  words.insert(words.end(), arguments.begin(), arguments.end());
  surroundings_.program = "/bin/sh";
  RunningProgram program(words, surroundings_);
  program.wait_for("\n");
  program.send(SIGHUP);
  const Outcome outcome = program.finish();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(names_in(here_ / "out").size(), table_count + 1);
}

TEST_F(ProgramSignal, WhenNobodyReadsItsProgressFinishedHeadsAreKept) {
  std::vector<std::string> words{"-c", R"("$0" "$@" 2>&1 | head -n 1; exit ${PIPESTATUS[0]})", built_program()};
  const std::vector<std::string> arguments = slow_words();
  words.insert(words.end(), arguments.begin(), arguments.end());
  surroundings_.program = "/bin/bash";
  const Outcome outcome = run_program(words, surroundings_);
  EXPECT_EQ(outcome.code, 141) << outcome.err;
  EXPECT_EQ(lines_of(outcome.out).size(), 1U);
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(names_in(here_ / "out").size(), table_count + 2);
  EXPECT_TRUE(fs::exists(table("run.partial.json")));
}

TEST_F(ProgramSignal, InTheTerminalTheBarGivesWay) {
  surroundings_.terminal_columns = 80;
  RunningProgram program(slow_words(), surroundings_);
  program.wait_for("/16 heads");
  program.send(SIGINT);
  const Outcome outcome = program.finish();
  EXPECT_EQ(outcome.code, 130);
  EXPECT_NE(outcome.err.find("\r\x1b[Kstopping; finished heads are saved; interrupt again to quit at once\n"),
            std::string::npos)
      << outcome.err;
}

TEST_F(ProgramSignal, HoweverEarlyItComesMessageAndFilesAgree) {
  RunningProgram program(slow_words({"--num_pairs_per_bucket", "100000", "--model_dir", "nowhere", "--q_heads", "0,1"}),
                         surroundings_);
  program.wait_for("these are used\n");
  program.send(SIGTERM);
  const Outcome outcome = program.finish();
  EXPECT_EQ(outcome.code, 143) << outcome.err;
  // The first head is finished if it was begun.
  const bool was_begun = !lines_starting(outcome.err, "[").empty();
  // A stop before the run is decided leaves no file; one before the first head has ended leaves run.partial.json.
  const std::size_t files = names_in(here_ / "out").size();
  EXPECT_TRUE(was_begun ? files == table_count + 2 : files <= 1) << files;
  const std::vector<std::string> interrupted = lines_starting(outcome.err, "interrupted");
  EXPECT_EQ(interrupted,
            std::vector<std::string>{was_begun ? "interrupted: 1 of 2 heads are in out/head_metrics.partial.csv"
                                               : "interrupted before any head was finished"});
}

}  // namespace
}  // namespace attention_plasticity

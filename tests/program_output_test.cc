// What a run writes: to files, and to pipes.

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <set>

#include "attention_plasticity/results/result_files.h"
#include "attention_plasticity/results/schema.h"
#include "places.h"
#include "program_support.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> result_names() {
  std::vector<std::string> files{"run.json"};
  for (const ResultTable& table : result_tables()) files.emplace_back(table.file);
  std::ranges::sort(files);
  return files;
}

class ProgramOutput : public ProgramTest {
 protected:
  /// A copy of the dump in which query head 1 of layer 0 is not a Parquet file.
  fs::path dump_with_a_broken_head() const {
    fs::copy(dump(), here_ / "broken", fs::copy_options::recursive);
    write_bytes(here_ / "broken" / "l00h01q" / "data.parquet", "nonsense");
    return here_ / "broken";
  }
};

TEST_F(ProgramOutput, PipeGetsOnePlainLineForEachHead) {
  const Outcome outcome = run(analyze_words(dump_with_a_broken_head(), {}));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(is_plain_text(outcome.err)) << outcome.err;
  const std::vector<std::string> lines = lines_of(outcome.err);
  ASSERT_EQ(lines.size(), 8U) << outcome.err;
  std::set<std::string> heads;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string count = fmt::format("[{}/8] layer ", i + 1);
    ASSERT_TRUE(lines[i].starts_with(count)) << lines[i];
    const bool is_broken = lines[i].find("] layer 0 q_head 1 k_head 0 failed: ") != std::string::npos;
    EXPECT_EQ(lines[i].find(": plasticity 0.") == std::string::npos, is_broken) << lines[i];
    heads.insert(lines[i].substr(count.size(), std::string_view("0 q_head 0").size()));
  }
  EXPECT_EQ(heads.size(), 8U);
}

TEST_F(ProgramOutput, StandardOutputGetsTableModelLineAndPaths) {
  const Outcome outcome = analyze({"--output_dir", "out"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(is_plain_text(outcome.out));
  const std::vector<std::string> lines = lines_of(outcome.out);
  ASSERT_GE(lines.size(), 6U) << outcome.out;
  EXPECT_EQ(lines.front(), "synthetic: 8 heads analysed, 0 failed, 0 not captured");
  for (const std::string column : {"q_R2_pos", "q_R2_scalar", "q_mae_ratio", "q_resid0_kurt", "q_noise_med_abs_skew",
                                   "q_noise_med_abs_kurt", "q_noise_frac_ks_p_lt_alpha", "ap_overall", "ap_exact"}) {
    const auto rows = lines_starting(outcome.out, column + " ");
    ASSERT_EQ(rows.size(), 1U) << column;
    EXPECT_NE(rows[0].find(" 8 "), std::string::npos) << rows[0];
  }
  const auto model = lines_starting(outcome.out, "Position-exact plasticity of the model: 0.");
  ASSERT_EQ(model.size(), 1U) << outcome.out;
  for (const char* part : {" ± 0.", "(mean of 8 heads)", "% below 0.25", "% above 0.75"}) {
    EXPECT_NE(model[0].find(part), std::string::npos) << model[0];
  }
  std::vector<std::string> paths(lines.end() - static_cast<std::ptrdiff_t>(result_names().size()), lines.end());
  std::ranges::sort(paths);
  std::vector<std::string> expected = result_names();
  for (std::string& path : expected) path.insert(0, "  out/");
  EXPECT_EQ(paths, expected);
  EXPECT_EQ(names_in(here_ / "out"), result_names());
}

TEST_F(ProgramOutput, QuietRunSaysNothing) {
  const Outcome outcome = analyze({"--quiet"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(names_in(here_.path()), result_names());
}

TEST_F(ProgramOutput, QuietRunReportsFailuresOnly) {
  const Outcome outcome = run(analyze_words(dump_with_a_broken_head(), {"--quiet", "--model_dir", "nowhere"}));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.out, "");
  ASSERT_EQ(lines_of(outcome.err).size(), 1U) << outcome.err;
  EXPECT_NE(outcome.err.find("layer 0 q_head 1 k_head 0 failed: "), std::string::npos) << outcome.err;
}

TEST_F(ProgramOutput, FilesDoNotDependOnTheNumberOfWorkers) {
  for (const std::string workers : {"1", "2", "7"}) {
    ASSERT_EQ(analyze({"--quiet", "--max_workers", workers, "--output_dir", workers}).code, 0);
  }
  for (const std::string& name : result_names()) {
    if (name == "run.json") continue;
    const std::string one = read_bytes(here_ / "1" / name);
    EXPECT_GT(lines_of(one).size(), 8U) << name;
    EXPECT_EQ(read_bytes(here_ / "2" / name), one) << name;
    EXPECT_EQ(read_bytes(here_ / "7" / name), one) << name;
  }
}

TEST_F(ProgramOutput, MemoryLimitThatFitsChangesNothing) {
  ASSERT_EQ(analyze({"--quiet", "--output_dir", "free"}).code, 0);
  ASSERT_EQ(analyze({"--quiet", "--memory_limit", "20MiB", "--output_dir", "limited"}).code, 0);
  for (const std::string& name : result_names()) {
    if (name == "run.json") continue;
    EXPECT_EQ(read_bytes(here_ / "limited" / name), read_bytes(here_ / "free" / name)) << name;
  }
}

TEST_F(ProgramOutput, MemoryLimitThatNoHeadFitsIntoIsSaidWithNumbers) {
  const Outcome outcome = analyze({"--memory_limit", "10KiB", "--output_dir", "tight"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_NE(outcome.err.find("of memory, and --memory_limit is 10.0 KiB; raise --memory_limit, or lower "
                             "--max_tokens_per_head"),
            std::string::npos)
      << outcome.err;
}

TEST_F(ProgramOutput, RunJsonHoldsFailedHeadsAndConfig) {
  ASSERT_EQ(run(analyze_words(dump_with_a_broken_head(), {"--quiet", "--seed", "7", "--max-workers", "2"})).code, 1);
  const auto json = nlohmann::json::parse(read_bytes(here_ / "run.json"));
  EXPECT_EQ(json["schema"], 2);
  EXPECT_EQ(json["heads"]["done"], 7);
  ASSERT_EQ(json["heads"]["failed"].size(), 1U);
  EXPECT_EQ(json["heads"]["failed"][0]["layer"], 0);
  EXPECT_EQ(json["heads"]["failed"][0]["q_head"], 1);
  EXPECT_EQ(json["heads"]["failed"][0]["file"], (here_ / "broken" / "l00h01q" / "data.parquet").string());
  EXPECT_EQ(json["config"]["seed"], 7);
  EXPECT_EQ(json["resources"]["workers"], 2);
  EXPECT_GT(json["resources"]["peak_rss_bytes"], 1 << 20);
  EXPECT_EQ(json["files"].size(), result_names().size());
}

TEST_F(ProgramOutput, FailedHeadLeavesTheOthersAsTheyAre) {
  ASSERT_EQ(analyze({"--quiet", "--output_dir", "whole"}).code, 0);
  ASSERT_EQ(run(analyze_words(dump_with_a_broken_head(), {"--quiet", "--output_dir", "rest"})).code, 1);
  std::vector<std::string> whole = lines_of(read_bytes(here_ / "whole" / "head_metrics.csv"));
  std::erase_if(whole, [](const std::string& line) { return line.starts_with("0,1,"); });
  EXPECT_EQ(lines_of(read_bytes(here_ / "rest" / "head_metrics.csv")), whole);
}

TEST_F(ProgramOutput, PathsMayHoldSpacesQuotesAndLetters) {
  const std::string odd = "ein Ordner \"mit\" 'ü' и 注意 $HOME *";
  fs::create_symlink(dump(), here_ / odd);
  const Outcome outcome =
      run({"analyze", "--dataset_local_root", odd, "--output_dir", odd + " out", "--output_csv", "a,b 'ü'.csv"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find(odd + " out/a,b 'ü'.csv\n"), std::string::npos) << outcome.out;
  EXPECT_TRUE(fs::exists(here_ / (odd + " out") / "a,b 'ü'.csv"));
  const auto json = nlohmann::json::parse(read_bytes(here_ / (odd + " out") / "run.json"));
  EXPECT_EQ(json["input"]["root"], odd);
  EXPECT_EQ(run({"inspect", odd}).code, 0);
}

TEST_F(ProgramOutput, ReaderThatLeavesLosesNoTable) {
  Surroundings surroundings;
  surroundings.reader_leaves = true;
  const Outcome outcome = analyze({}, surroundings);
  EXPECT_EQ(outcome.code, 128 + SIGPIPE) << outcome.signal;
  EXPECT_EQ(outcome.err.find("attention-plasticity:"), std::string::npos) << outcome.err;
  EXPECT_EQ(names_in(here_.path()), result_names());
  for (const char* command : {"--version", "--help"}) {
    const Outcome other = run({command}, surroundings);
    EXPECT_EQ(other.code, 128 + SIGPIPE) << command;
    EXPECT_EQ(other.err, "") << command;
  }
}

// A file that is opened must not become standard output: the summary would then be written into a table.
TEST_F(ProgramOutput, ClosedStandardStreamsDoNotDamageTables) {
  ASSERT_EQ(analyze({"--quiet"}).code, 0);
  const ResultFiles expected(here_.path());
  std::vector<std::string> words{"-c", R"(exec "$0" "$@" <&- >&- 2>&-)", built_program()};
  const std::vector<std::string> arguments = analyze_words(dump(), {});
  words.insert(words.end(), arguments.begin(), arguments.end());
  Surroundings surroundings;
  surroundings.program = "/bin/sh";
  const Outcome outcome = run(words, surroundings);
  EXPECT_EQ(outcome.code, 6) << "the summary could not be printed";
  EXPECT_EQ(names_in(here_.path()), result_names());
  const ResultFiles files(here_.path());
  EXPECT_TRUE(files.left_out().empty());
  EXPECT_EQ(files.read(TableId::metrics).rows, expected.read(TableId::metrics).rows);
}

TEST_F(ProgramOutput, FullStandardOutputIsExitSix) {
  Surroundings surroundings;
  surroundings.out = "/dev/full";
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--version"}, analyze_words(dump(), {}), analyze_words(dump(), {"--dry-run"}),
        // This prints more than the buffer holds, so that it fails while printing.
        std::vector<std::string>{"inspect", "--json", (source_folder() / "examples/minidoc-qwen3").string()}}) {
    const Outcome outcome = run(arguments, surroundings);
    EXPECT_EQ(outcome.code, 6) << arguments[0];
    EXPECT_EQ(lines_starting(outcome.err, "attention-plasticity: cannot write to standard output").size(), 1U)
        << outcome.err;
  }
}

TEST_F(ProgramOutput, FullStandardErrorDoesNotEndARun) {
  Surroundings surroundings;
  surroundings.err = "/dev/full";
  EXPECT_EQ(analyze({"--output_dir", "out"}, surroundings).code, 0);
  EXPECT_EQ(names_in(here_ / "out"), result_names());
  EXPECT_EQ(run({"analyze", "--nonsense"}, surroundings).code, 2);
}

}  // namespace
}  // namespace attention_plasticity

// What the program says about itself, and how it answers typing errors.

#include <algorithm>
#include <sstream>

#include "attention_plasticity/options/config_fields.h"
#include "program_support.h"

namespace attention_plasticity {
namespace {

class ProgramHelp : public ProgramTest {
 protected:
  static void SetUpTestSuite() {}
  static void TearDownTestSuite() {}

  /// The one line with which the program refuses wrong use.
  std::string complaint(const std::vector<std::string>& arguments) const {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(lines_of(outcome.err).size(), 1U) << outcome.err;
    EXPECT_TRUE(is_plain_text(outcome.err));
    return outcome.err;
  }
};

TEST_F(ProgramHelp, VersionIsOneLineOnStandardOutput) {
  EXPECT_EQ(run({"-V"}).out, run({"--version"}).out);
  const Outcome outcome = run({"--version"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(outcome.out.starts_with("attention-plasticity 0.")) << outcome.out;
  EXPECT_EQ(lines_of(outcome.out).size(), 1U);
  EXPECT_EQ(outcome.err, "");
}

TEST_F(ProgramHelp, OverviewNamesSubcommandsAndExitCodes) {
  for (const char* word : {"--help", "-h", "help"}) {
    const Outcome outcome = run({word});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.err, "");
    for (const char* part : {"analyze", "inspect", "synth", "--version", "Exit codes"}) {
      EXPECT_NE(outcome.out.find(part), std::string::npos) << part;
    }
  }
}

TEST_F(ProgramHelp, WithoutArgumentsTheOverviewGoesToStandardError) {
  const Outcome outcome = run({});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, run({"--help"}).out);
}

// A text on one line, with single blanks.
std::string unwrapped(const std::string& text) {
  std::istringstream stream(text);
  std::string line;
  for (std::string word; stream >> word;) line += (line.empty() ? "" : " ") + word;
  return line;
}

TEST_F(ProgramHelp, AnalyzeListsEveryFieldWithItsDefault) {
  const Outcome outcome = run({"analyze", "--help"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  const std::string text = unwrapped(outcome.out);
  for (const Field& field : config_fields()) {
    const std::string entry = "--" + field.name + (field.value_name.empty() ? "" : " " + field.value_name) + " " +
                              field.help + " (default: " + field.default_text + ")";
    EXPECT_NE(text.find(unwrapped(entry)), std::string::npos) << entry;
  }
  for (const char* flag : {"      --config FILE ", "      --dry_run ", "  -q, --quiet ", "      --progress "}) {
    EXPECT_EQ(lines_starting(outcome.out, flag).size(), 1U) << flag;
  }
  for (const char* heading :
       {"Flags:", "The dump:", "The analysis:", "The rotation:", "The outputs:", "The machine:", "Examples:"}) {
    EXPECT_EQ(lines_starting(outcome.out, heading).size(), 1U) << heading;
  }
}

// The widest line that is no example; these are indented by four blanks.
std::size_t widest(const std::string& text) {
  std::size_t columns = 0;
  for (const std::string& line : lines_of(text)) {
    if (!line.starts_with("    attention-plasticity ")) columns = std::max(columns, line.size());
  }
  return columns;
}

TEST_F(ProgramHelp, FitsTheTerminal) {
  for (const char* subcommand : {"analyze", "capture", "completion", "download", "evaluate", "inspect", "man", "plan",
                                 "plot", "report", "study", "synth", "validate"}) {
    const Outcome piped = run({subcommand, "--help"});
    EXPECT_EQ(piped.code, 0);
    EXPECT_LE(widest(piped.out), 80U) << piped.out;
    EXPECT_TRUE(is_plain_text(piped.out));
    EXPECT_EQ(lines_starting(piped.out, "Examples:").size(), 1U) << subcommand;
    EXPECT_EQ(run({"help", subcommand}).out, piped.out);
  }
  for (const int columns : {60, 110}) {
    Surroundings surroundings;
    surroundings.output_columns = columns;
    const Outcome wide = run({"analyze", "--help"}, surroundings);
    EXPECT_LE(widest(wide.out), static_cast<std::size_t>(columns));
    EXPECT_GT(widest(wide.out), static_cast<std::size_t>(columns) - 15);
    EXPECT_EQ(unwrapped(wide.out), unwrapped(run({"analyze", "--help"}).out));
  }
  EXPECT_LE(widest(run({"--help"}).out), 80U);
}

TEST_F(ProgramHelp, HelpWinsOverEverythingElse) {
  const Outcome outcome = run({"analyze", "--nonsense", "--help"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, run({"analyze", "-h"}).out);
}

TEST_F(ProgramHelp, InspectAndSynthExplainThemselves) {
  const Outcome inspect = run({"inspect", "--help"});
  EXPECT_EQ(inspect.code, 0);
  EXPECT_TRUE(inspect.out.starts_with("Usage: attention-plasticity inspect DUMP ")) << inspect.out;
  EXPECT_NE(inspect.out.find("--json"), std::string::npos);
  const Outcome synth = run({"synth", "--help"});
  EXPECT_EQ(synth.code, 0);
  EXPECT_TRUE(synth.out.starts_with("Usage: attention-plasticity synth OUT ")) << synth.out;
  for (const char* flag :
       {"--layers",         "--q_heads", "--k_heads",     "--rows",       "--dim",    "--examples",
        "--spacing",        "--buckets", "--bucket_size", "--slope",      "--mean",   "--spectrum",
        "--example_effect", "--tails",   "--bfloat16",    "--rope_theta", "--window", "--sliding_layers",
        "--truth_pairs",    "--seed",    "--quiet"}) {
    EXPECT_EQ(
        lines_starting(synth.out, std::string(flag == std::string("--quiet") ? "  -q, " : "      ") + flag).size(), 1U)
        << flag;
  }
}

TEST_F(ProgramHelp, UnknownSubcommandIsAnsweredWithTheNearest) {
  EXPECT_EQ(complaint({"analyse"}), "attention-plasticity: analyse: unknown subcommand; did you mean analyze?\n");
  EXPECT_EQ(complaint({"frobnicate"}),
            "attention-plasticity: frobnicate: unknown subcommand; `attention-plasticity --help` lists them all\n");
}

TEST_F(ProgramHelp, UnknownFlagIsAnsweredWithTheNearest) {
  EXPECT_EQ(complaint({"analyze", "--max_wrokers", "3"}),
            "attention-plasticity: --max_wrokers: unknown flag; did you mean --max_workers?\n");
  EXPECT_EQ(complaint({"analyze", "--dry-rnu"}),
            "attention-plasticity: --dry-rnu: unknown flag; did you mean --dry_run?\n");
  EXPECT_EQ(complaint({"inspect", "--frobnicate"}),
            "attention-plasticity: --frobnicate: unknown flag; `attention-plasticity inspect --help` lists them all\n");
}

TEST_F(ProgramHelp, UnknownShortFlagsAreRefused) {
  EXPECT_EQ(complaint({"analyze", "-x"}),
            "attention-plasticity: -x: unknown flag; `attention-plasticity analyze --help` lists them all\n");
  EXPECT_EQ(complaint({"inspect", "-q", "x"}),
            "attention-plasticity: -q: unknown flag; `attention-plasticity inspect --help` lists them all\n");
  EXPECT_EQ(complaint({"help", "analyse"}),
            "attention-plasticity: analyse: unknown subcommand; did you mean analyze?\n");
}

TEST_F(ProgramHelp, MissingValueIsNamed) {
  EXPECT_EQ(complaint({"analyze", "--max-workers"}), "attention-plasticity: --max-workers: needs a value: N\n");
  EXPECT_EQ(complaint({"analyze", "--config"}), "attention-plasticity: --config: needs a value: FILE\n");
}

TEST_F(ProgramHelp, PositionalsAreCounted) {
  EXPECT_EQ(complaint({"analyze", "dump"}),
            "attention-plasticity: dump: analyze takes flags only; a dump is given as --dataset_local_root\n");
  EXPECT_EQ(complaint({"inspect"}),
            "attention-plasticity: inspect takes one dump: attention-plasticity inspect DUMP\n");
  EXPECT_EQ(complaint({"synth", "a", "b"}),
            "attention-plasticity: synth takes one folder to write to: attention-plasticity synth OUT\n");
}

}  // namespace
}  // namespace attention_plasticity

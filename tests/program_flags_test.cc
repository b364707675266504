// Configuration by file and by flag, as --dry-run shows it.

#include <map>

#include "program_support.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

class ProgramFlags : public ProgramTest {
 protected:
  /// The resolved fields as the dry run prints them.
  std::map<std::string, std::string> resolved(std::vector<std::string> flags) const {
    flags.emplace_back("--dry-run");
    const Outcome outcome = analyze(flags);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    std::map<std::string, std::string> fields;
    for (const std::string& line : lines_of(outcome.out)) {
      if (line.empty() || line.starts_with('#')) continue;
      const std::size_t colon = line.find(": ");
      fields[line.substr(0, colon)] = line.substr(colon + 2);
    }
    return fields;
  }
};

TEST_F(ProgramFlags, DashesUnderscoresAndEqualsSignsAreEquivalent) {
  EXPECT_EQ(resolved({"--max_workers", "4"})["max_workers"], "4");
  EXPECT_EQ(resolved({"--max-workers", "4"})["max_workers"], "4");
  EXPECT_EQ(resolved({"--max-workers=4"})["max_workers"], "4");
  EXPECT_EQ(resolved({"--output-dir=a=b"})["output_dir"], "\"a=b\"");
}

TEST_F(ProgramFlags, BooleansAreBareOrValuedOrNegated) {
  EXPECT_EQ(resolved({})["standard_errors"], "true");
  EXPECT_EQ(resolved({"--no-standard-errors"})["standard_errors"], "false");
  EXPECT_EQ(resolved({"--no_standard_errors"})["standard_errors"], "false");
  EXPECT_EQ(resolved({"--standard_errors", "false"})["standard_errors"], "false");
  EXPECT_EQ(resolved({"--standard-errors=off"})["standard_errors"], "false");
  EXPECT_EQ(resolved({"--no-standard-errors", "--standard-errors"})["standard_errors"], "true");
  EXPECT_EQ(resolved({"--no-standard-errors", "--standard-errors", "null"})["standard_errors"], "true");
}

TEST_F(ProgramFlags, WordAfterABooleanIsItsValueOnlyIfItIsOne) {
  const auto fields = resolved({"--standard-errors", "--seed", "0"});
  EXPECT_EQ(fields.at("standard_errors"), "true");
  const Outcome outcome = analyze({"--quiet", "dump"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("dump: analyze takes flags only"), std::string::npos) << outcome.err;
}

TEST_F(ProgramFlags, NullUnsetsAndTheLastCounts) {
  EXPECT_EQ(resolved({"--max_workers", "3", "--max-workers", "null"})["max_workers"], "null");
  EXPECT_EQ(resolved({"--seed", "1", "--seed=2"})["seed"], "2");
  EXPECT_EQ(resolved({"--max_tokens_per_head", "null"})["max_tokens_per_head"], "null");
}

TEST_F(ProgramFlags, FlagsWinOverTheFile) {
  write_bytes(here_ / "run.yaml",
              "seed: 5\nmax_workers: 3\nlayers: [0, 1]\nstandard_errors: false\nmethod: full\nmemory_limit: 8GiB\n");
  const auto fields = resolved({"--config", "run.yaml", "--seed", "6", "--layers", "null", "--standard-errors"});
  EXPECT_EQ(fields.at("seed"), "6");
  EXPECT_EQ(fields.at("max_workers"), "3");
  EXPECT_EQ(fields.at("layers"), "null");
  EXPECT_EQ(fields.at("standard_errors"), "true");
  EXPECT_EQ(fields.at("method"), "full");
  EXPECT_EQ(fields.at("memory_limit"), "8589934592");
}

TEST_F(ProgramFlags, FlagsWinWhereverTheyStand) {
  write_bytes(here_ / "run.yaml", "seed: 5\n");
  EXPECT_EQ(resolved({"--seed", "6", "--config", "run.yaml"})["seed"], "6");
}

TEST_F(ProgramFlags, FileMayHoldEverything) {
  write_bytes(here_ / "run.yaml", "dataset_local_root: " + dump().string() + "\noutput_dir: results\n");
  const Outcome outcome = run({"analyze", "--config=run.yaml", "--quiet"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(fs::exists(here_ / "results" / "head_metrics.csv"));
}

TEST_F(ProgramFlags, DryRunReadsBackAsAConfiguration) {
  const std::vector<std::vector<std::string>> cases{
      {},
      {"--compat", "python"},
      {"--output_dir", "a folder: \"x\" # é", "--layers", "1", "--q_heads", "0,2-3", "--seed", "18446744073709551615"},
      {"--memory_limit", "1.5GiB", "--no-standard-errors", "--max_tokens_per_head", "0", "--p_alpha", "1e-7"},
  };
  for (std::vector<std::string> flags : cases) {
    flags.emplace_back("--dry_run");
    const Outcome first = analyze(flags);
    ASSERT_EQ(first.code, 0) << first.err;
    write_bytes(here_ / "resolved.yaml", first.out);
    const Outcome again = run({"analyze", "--config", "resolved.yaml", "--dry_run"});
    EXPECT_EQ(again.code, 0) << again.err;
    EXPECT_EQ(again.out, first.out);
  }
}

TEST_F(ProgramFlags, DryRunTellsThePlanAndWritesNothing) {
  const Outcome outcome = analyze({"--dry-run", "--output_dir", "results", "--max_workers", "5", "--layers", "1"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  for (const std::string line : {"# model: synthetic, 2 layers, 4 query heads, 2 key heads",
                                 "# heads to analyse: 4; selected but not captured: 0", "# workers: 5",
                                 "# writes: results/head_metrics.csv", "# writes: results/run.json"}) {
    EXPECT_EQ(lines_starting(outcome.out, line).size(), 1U) << line << "\n" << outcome.out;
  }
  EXPECT_EQ(names_in(here_.path()), std::vector<std::string>{});
}

TEST_F(ProgramFlags, DryRunTellsNotes) {
  const Outcome outcome = analyze({"--dry-run", "--model_dir", "nowhere"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, dump().string() + " has no folder nowhere, but holds heads itself: these are used\n");
}

TEST_F(ProgramFlags, RunWithoutStandardErrorsHasNoSuchColumn) {
  EXPECT_EQ(analyze({"--no-standard-errors", "--quiet"}).code, 0);
  const std::string header = first_line(read_bytes(here_ / "head_metrics.csv"));
  EXPECT_NE(header.find(",ap_overall"), std::string::npos) << header;
  EXPECT_EQ(header.find("_se"), std::string::npos) << header;
}

}  // namespace
}  // namespace attention_plasticity

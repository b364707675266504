// The subcommands `validate` and `plan`.

#include <cmath>
#include <nlohmann/json.hpp>

#include "attention_plasticity/results/csv.h"
#include "places.h"
#include "program_support.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const fs::path source = source_folder();
const std::string exact = (source / "tests/golden/smollm2-135m/exact/head_exact.csv").string();
const std::string positional = (source / "tests/golden/smollm2-135m/positional").string();
const std::string labels = (source / "examples/smollm2-135m/head_labels.csv").string();
const std::string lab_model = (source / "tests/golden/minidoc-qwen3/exact/head_exact.csv").string();

/// What is said of tables that have no run.json beside them.
std::string no_run_json(const fs::path& folder) {
  return (folder / "run.json").string() +
         ": there is no such file, so nothing tells whether the tables beside it are of one run\n";
}

class ProgramStudy : public ProgramTest {
 protected:
  static void SetUpTestSuite() {}
  static void TearDownTestSuite() {}

  Outcome validate(std::vector<std::string> flags) const {
    flags.insert(flags.begin(), "validate");
    return run(flags);
  }
  Outcome plan(std::vector<std::string> flags) const {
    flags.insert(flags.begin(), "plan");
    return run(flags);
  }
  /// The message of a failure with this exit code, without the program's name.
  std::string complaint(const std::vector<std::string>& words, int code) const {
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(is_plain_text(outcome.err));
    const std::string line = last_line(outcome.err);
    return line.substr(std::min(line.size(), std::string("attention-plasticity: ").size()));
  }
};

class ProgramValidate : public ProgramStudy {};

const std::vector<std::string> roles{"--positive", "induction>0.1", "--negative", "previous_token>0.25"};

std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST_F(ProgramValidate, TableShowsTheAgreementOfRealHeads) {
  const Outcome outcome = validate(with({"--metrics", exact, "--labels", labels}, roles));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(is_plain_text(outcome.out));
  EXPECT_EQ(first_line(outcome.out), "40 heads joined; 230 labelled heads are not in the metrics");
  EXPECT_EQ(lines_starting(outcome.out, "induction       +0.91 [+0.").size(), 1U) << outcome.out;
  EXPECT_EQ(lines_starting(outcome.out, "AUC             1.00 [1.00, 1.00]  ").size(), 1U) << outcome.out;
  EXPECT_EQ(outcome.err, no_run_json(fs::path(exact).parent_path()) + exact + ": has no ap_overall\n");
  for (const std::string& line : lines_of(outcome.out)) EXPECT_LE(line.size(), 120U);
}

TEST_F(ProgramValidate, CsvIsReadBackAndTheSameEachTime) {
  const auto words = with({"--metrics", positional, "--labels", labels, "--csv"}, roles);
  const Outcome outcome = validate(words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const CsvTable table = parse_csv(outcome.out);
  EXPECT_EQ(table.columns,
            (std::vector<std::string>{"statistic", "label", "measure", "value", "low", "high", "heads"}));
  ASSERT_EQ(table.rows.size(), 8U);
  EXPECT_EQ(table.rows.back()[0], "auc");
  EXPECT_EQ(table.rows.back()[1], "induction>0.1 above previous_token>0.25");
  EXPECT_EQ(table.rows.back()[2], "ap_overall");
  EXPECT_NEAR(table.number(7, 3), 0.04, 0.005);
  EXPECT_EQ(validate(words).out, outcome.out);
}

TEST_F(ProgramValidate, JsonHoldsChosenColumnsWithoutIntervals) {
  const Outcome outcome = validate(
      {"--metrics", positional, "--labels", labels, "--json", "--columns", "q_R2_pos,ap_overall", "--bootstrap", "0"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, no_run_json(positional));
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["heads"]["joined"], 40);
  EXPECT_EQ(json["spearman"].size(), 14U);
  EXPECT_EQ(json["spearman"][0]["measure"], "q_R2_pos");
  EXPECT_TRUE(json["spearman"][0]["low"].is_null());
  EXPECT_TRUE(json["auc"].is_null());
}

TEST_F(ProgramValidate, SeedAndConfidenceMoveTheIntervalsOnly) {
  const auto first = [&](const std::vector<std::string>& flags) {
    const Outcome outcome = validate(with({"--metrics", exact, "--labels", labels, "--json"}, flags));
    return Json::parse(outcome.out)["spearman"][0];
  };
  const Json plain = first({});
  const Json other = first({"--seed", "1"});
  const Json narrow = first({"--confidence", "0.5"});
  EXPECT_EQ(plain["value"], other["value"]);
  EXPECT_NE(plain["low"], other["low"]);
  EXPECT_GT(narrow["low"], plain["low"]);
  EXPECT_LT(narrow["high"], plain["high"]);
}

TEST_F(ProgramValidate, LabelsOfKvHeadsAndOfPublishedScoresAreTaken) {
  write_bytes(here_ / "heads.tsv", "1\t0\t0.5\n0\t1\t0.25\n");
  const Outcome matrix = validate({"--metrics", exact, "--labels", "heads.tsv"});
  EXPECT_EQ(matrix.code, 0) << matrix.err;
  EXPECT_EQ(lines_starting(matrix.out, "score ").size(), 1U) << matrix.out;
  write_bytes(here_ / "scores.json", R"({"1-0": [0.5, 0.7], "1-2": [0.1], "1-3": [0.2]})");
  EXPECT_EQ(validate({"--metrics", exact, "--labels", "scores.json"}).code, 0);
}

TEST_F(ProgramValidate, WrongUseIsTwoAndNamesTheNearest) {
  const std::vector<std::string> files{"validate", "--metrics", exact, "--labels", labels};
  const auto complain = [&](const std::vector<std::string>& flags) { return complaint(with(files, flags), 2); };
  EXPECT_EQ(complaint({"validate"}, 2), "validate needs --metrics: head_metrics.csv of a run, or its folder");
  EXPECT_EQ(complaint({"validate", "--metrics", exact}, 2),
            "validate needs --labels: a file with the known labels of the heads");
  EXPECT_EQ(complaint({"validate", "x"}, 2), "x: validate takes flags only; files are given as --metrics and --labels");
  EXPECT_EQ(complain({"--positive", "induction>0.1"}),
            "--positive also needs --negative: two kinds of heads are compared");
  EXPECT_EQ(complain({"--json", "--csv"}), "--json and --csv exclude each other");
  EXPECT_EQ(complain({"--columns", "ap_exakt"}), exact + " has no column 'ap_exakt'; did you mean ap_exact?");
  EXPECT_EQ(complain({"--columns", "ap_exact,"}), "--columns: ap_exact, holds an empty name");
  EXPECT_EQ(complain({"--positive", "inductoin>0.1", "--negative", "self>0"}),
            "'inductoin' is not a label; did you mean induction?");
  EXPECT_TRUE(complain({"--positive", "induction>7", "--negative", "self>0"})
                  .starts_with("none of the 40 heads meets induction>7: the largest induction is 0."));
  EXPECT_TRUE(complain({"--positive", "induction=7", "--negative", "self>0"}).starts_with("'induction=7' is not a "));
  EXPECT_TRUE(complain({"--bootstrap", "-1"}).starts_with("--bootstrap: "));
  EXPECT_TRUE(complain({"--confidence", "1"}).starts_with("--confidence: "));
}

TEST_F(ProgramValidate, UnusableInputIsThree) {
  EXPECT_EQ(complaint({"validate", "--metrics", "none.csv", "--labels", labels}, 3),
            "none.csv: there is no such file or folder");
  EXPECT_EQ(complaint({"validate", "--metrics", exact, "--labels", "."}, 3), ".: is a folder and should be a file");
  write_bytes(here_ / "bad.csv", "layer,q_head,x\n1,0\n");
  EXPECT_EQ(complaint({"validate", "--metrics", exact, "--labels", "bad.csv"}, 3),
            "bad.csv: line 2: 2 fields where the header has 3");
}

TEST_F(ProgramValidate, FullDiskIsSix) {
  Surroundings full;
  full.out = "/dev/full";
  EXPECT_EQ(run({"validate", "--metrics", exact, "--labels", labels}, full).code, 6);
}

class ProgramPlan : public ProgramStudy {};

TEST_F(ProgramPlan, IsWrittenWholeAndToldInTwoLines) {
  const Outcome outcome = plan({"--metrics", lab_model, "--keep", "0.5", "--output", "new/plan.json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            "20 KV heads: 10 full, 10 windowed (64 + 4 tokens)\n"
            "cache saved: 49.2% at 4k, 49.9% at 32k, 50.0% at 128k tokens\n");
  EXPECT_EQ(outcome.err, no_run_json(fs::path(lab_model).parent_path()));
  EXPECT_EQ(names_in(here_ / "new"), std::vector<std::string>{"plan.json"});
  const Json json = Json::parse(read_bytes(here_ / "new" / "plan.json"));
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["kind"], "attention-plasticity cache plan");
  EXPECT_EQ(json["keep"], 0.5);
  EXPECT_EQ(json["heads"].size(), 20U);
}

TEST_F(ProgramPlan, GoesToStandardOutputAndTheSummaryToStandardError) {
  const Outcome outcome = plan({"--metrics", lab_model, "--keep", "0.5", "--format", "tsv"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "1\t1\n0\t0\n0\t0\n1\t0\n1\t0\n0\t0\n1\t1\n1\t1\n0\t0\n1\t1\n");
  EXPECT_EQ(lines_starting(outcome.err, "20 KV heads: 10 full, 10 windowed (64 + 4 tokens)").size(), 1U);
}

TEST_F(ProgramPlan, UsesTheRunJsonBesideTheMetrics) {
  fs::create_directory(here_ / "run");
  fs::copy_file(lab_model, here_ / "run" / "head_metrics.csv");
  write_bytes(here_ / "run" / "run.json",
              R"({"schema": 1, "files": ["head_metrics.csv"], "heads": {"done": 60},
                  "model": {"name": "lab", "num_layers": 10, "num_q_heads": 6, "num_k_heads": 2,
                  "layers": [{"layer": 2, "attention": "sliding", "window": 512.0},
                             {"layer": 5, "attention": "sliding", "window": 512.0},
                             {"layer": 8, "attention": "sliding", "window": 512.0}]}})");
  const Outcome outcome = plan({"--metrics", "run", "--keep", "0", "--window", "128", "--sinks", "0"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  // Now 14 heads hold T tokens and 6 hold 512; as planned, the 14 hold 128. At T = 4,096 this saves 1 - 4864 / 60416.
  EXPECT_EQ(outcome.err,
            "20 KV heads: 0 full, 14 windowed (128 + 0 tokens), 6 sliding as they are\n"
            "cache saved: 91.9% at 4k, 98.9% at 32k, 99.7% at 128k tokens\n");
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["model"], "lab");
  EXPECT_EQ(json["heads"][4]["kind"], "sliding");
  EXPECT_EQ(json["heads"][4]["window"], 512);
}

TEST_F(ProgramPlan, TakesTheFolderOfARunAndTheEndingOfItsOutput) {
  fs::create_directory(here_ / "run");
  fs::copy_file(lab_model, here_ / "run" / "head_metrics.csv");
  const std::string matrix = plan({"--metrics", lab_model, "--keep", "0.5", "--format", "tsv"}).out;
  ASSERT_EQ(plan({"run", "--keep", "0.5", "--output", "p.tsv"}).code, 0);
  EXPECT_EQ(read_bytes(here_ / "p.tsv"), matrix);
  ASSERT_EQ(plan({"--keep", "0.5", "--output", "p.TSV", "run/head_metrics.csv"}).code, 0);
  EXPECT_EQ(read_bytes(here_ / "p.TSV"), matrix);
  ASSERT_EQ(plan({"run", "--keep", "0.5", "--output", "p.txt"}).code, 0);
  EXPECT_EQ(Json::parse(read_bytes(here_ / "p.txt"))["schema"], 1);
  ASSERT_EQ(plan({"run", "--keep", "0.5", "--output", "j.tsv", "--format", "json"}).code, 0);
  EXPECT_EQ(Json::parse(read_bytes(here_ / "j.tsv"))["schema"], 1) << "--format wins over the ending";
}

TEST_F(ProgramPlan, TravelsThroughEveryFormat) {
  ASSERT_EQ(plan({"--metrics", lab_model, "--threshold", "0.5", "--output", "a.json"}).code, 0);
  ASSERT_EQ(plan({"--plan", "a.json", "--format", "scores", "--output", "b.json"}).code, 0);
  ASSERT_EQ(
      plan({"--plan", "b.json", "--threshold", "0.5", "--num_kv_heads", "2", "--format", "tsv", "--output", "c.tsv"})
          .code,
      0);
  ASSERT_EQ(plan({"--plan", "a.json", "--format", "tsv", "--output", "d.tsv"}).code, 0);
  EXPECT_EQ(read_bytes(here_ / "c.tsv"), read_bytes(here_ / "d.tsv"));
  const Outcome back = plan({"--plan", "c.tsv", "--num_q_heads", "6", "--window", "32"});
  EXPECT_EQ(back.code, 0) << back.err;
  EXPECT_EQ(Json::parse(back.out)["num_q_heads"], 6);
  EXPECT_EQ(Json::parse(back.out)["window"], 32);
  EXPECT_EQ(plan({"--plan", "a.json"}).out, read_bytes(here_ / "a.json"));
}

TEST_F(ProgramPlan, MissingHeadsAreUnusableInputUnlessTheyMayStayFull) {
  EXPECT_TRUE(complaint({"plan", "--metrics", exact, "--keep", "0.5"}, 3)
                  .ends_with("analyse all heads, or pass --missing full to leave these full"));
  const Outcome outcome = plan({"--metrics", exact, "--keep", "0", "--missing", "full", "--output", "p.json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(first_line(outcome.out), "87 KV heads: 86 full, 1 windowed (64 + 4 tokens)");
}

TEST_F(ProgramPlan, WrongUseIsTwo) {
  const auto complain = [&](const std::vector<std::string>& flags) {
    return complaint(with({"plan", "--metrics", lab_model}, flags), 2);
  };
  const std::string either =
      "plan needs either the RESULTS of a run (a folder, or its head_metrics.csv) or --plan (a plan to convert to "
      "another format)";
  EXPECT_EQ(complaint({"plan"}, 2), either);
  EXPECT_EQ(complain({"--plan", "x"}), either);
  EXPECT_EQ(complain({"out", "--keep", "0.5"}), "RESULTS and --metrics are the same; give one of them");
  EXPECT_EQ(complaint({"plan", "a", "b", "--keep", "0.5"}, 2),
            "plan takes one folder of results: attention-plasticity plan RESULTS");
  const std::string one_of =
      "a plan needs one of --keep (the share of KV heads that stay full) and --threshold (their least score)";
  EXPECT_EQ(complain({}), one_of);
  EXPECT_EQ(complain({"--keep", "0.5", "--threshold", "0.5"}), one_of);
  EXPECT_EQ(complain({"--keep", "1.5"}), "--keep: should be a share from 0 to 1");
  EXPECT_EQ(complain({"--keep", "half"}), "--keep: half is not a number");
  EXPECT_EQ(complain({"--keep", "0.5", "--group", "maxx"}), "--group: maxx is not one of max, mean; did you mean max?");
  EXPECT_TRUE(complain({"--keep", "0.5", "--window", "0"}).starts_with("--window: "));
  EXPECT_TRUE(complain({"--keep", "0.5", "--column", "ap_exat"}).ends_with("did you mean ap_exact?"));
  EXPECT_EQ(complain({"--keep", "0.5", "--num_q_heads", "6"}),
            "--num_q_heads: does not apply to metrics; it is for tsv");
  ASSERT_EQ(plan({"--metrics", lab_model, "--keep", "0.5", "--output", "a.json"}).code, 0);
  EXPECT_EQ(complaint({"plan", "--plan", "a.json", "--keep", "0.5"}, 2),
            "--keep: does not apply to a json plan; it is for metrics, scores");
  write_bytes(here_ / "scores.json", R"({"0-0": [0.5]})");
  EXPECT_EQ(complaint({"plan", "--plan", "scores.json"}, 2), one_of);
}

TEST_F(ProgramPlan, PooledMetricsAreRefusedWithWhatTheyLack) {
  EXPECT_TRUE(complaint({"plan", "--metrics", positional, "--keep", "0.5"}, 3)
                  .ends_with("has no ap_exact, which is measured only when the model's rotation is known; choose "
                             "another column with --column"));
}

TEST_F(ProgramPlan, OutputThatCannotBeWrittenIsSixAndLeavesTheOldPlan) {
  write_bytes(here_ / "file", "old");
  EXPECT_EQ(plan({"--metrics", lab_model, "--keep", "0.5", "--output", "file/plan.json"}).code, 6);
  EXPECT_EQ(plan({"--metrics", lab_model, "--keep", "2", "--output", "file"}).code, 2);
  EXPECT_EQ(read_bytes(here_ / "file"), "old");
  EXPECT_EQ(names_in(here_.path()), std::vector<std::string>{"file"});
}

}  // namespace
}  // namespace attention_plasticity

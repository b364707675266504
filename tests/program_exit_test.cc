// Runs that cannot be done: their exit codes and messages.

#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "program_support.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

class ProgramExit : public ProgramTest {
 protected:
  /// The message of a run that ends with `code`, without the program's name and the line break.
  std::string complaint(int code, const std::vector<std::string>& arguments) const {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    const std::string start = "attention-plasticity: ";
    EXPECT_EQ(lines_of(outcome.err).size(), 1U) << outcome.err;
    EXPECT_TRUE(outcome.err.starts_with(start)) << outcome.err;
    if (outcome.err.size() <= start.size()) return outcome.err;
    return outcome.err.substr(start.size(), outcome.err.size() - start.size() - 1);
  }

  std::string config_complaint(const std::string& yaml) const {
    write_bytes(here_ / "run.yaml", yaml);
    return complaint(2, {"analyze", "--config", "run.yaml", "--dataset_local_root", dump().string()});
  }

  std::string flag_complaint(const std::vector<std::string>& flags) const {
    return complaint(2, analyze_words(dump(), flags));
  }
};

TEST_F(ProgramExit, ConfigFaultsNameFileLineAndKey) {
  EXPECT_EQ(config_complaint("seed: 1\nmax_wrokers: 2\n"),
            "run.yaml:2: max_wrokers: unknown key; did you mean max_workers?");
  EXPECT_EQ(config_complaint("\nmax_workers: many\n"),
            "run.yaml:2: max_workers: many is not an integer in plain decimal");
  EXPECT_EQ(config_complaint("seed: [1, 2]\n"), "run.yaml:1: seed: is a list; it must be a single value (integer)");
  EXPECT_EQ(config_complaint("seed: 1\nmethod: full\nseed: 2\n"), "run.yaml:3: seed: repeats the key of line 1");
  EXPECT_EQ(config_complaint("p_alpha: 1\n"),
            "run.yaml:1: p_alpha: 1 is out of range; it must lie between 0 and 1 (exclusive)");
  EXPECT_EQ(config_complaint("max_relative_distance: 0\n"),
            "run.yaml:1: max_relative_distance: 0 is out of range; it must be greater than 0 and at most 1");
  EXPECT_EQ(config_complaint("method: fulll\n"),
            "run.yaml:1: method: fulll is not one of positional, full, diagonal; did you mean full?");
  EXPECT_EQ(config_complaint("num_q_heads: 4\nnum_k_heads: 3\n"),
            "run.yaml:1: num_q_heads: 4 is not a multiple of num_k_heads, 3 (run.yaml:2)");
  EXPECT_EQ(config_complaint("compat: python\nmethod: full\n"),
            "run.yaml:2: method: full contradicts compat python (run.yaml:1), which means diagonal");
  EXPECT_EQ(config_complaint("- seed\n"), "run.yaml:1: not a mapping of fields to values");
  EXPECT_TRUE(config_complaint("seed: [1\n").starts_with("run.yaml:")) << "broken YAML";
}

TEST_F(ProgramExit, MissingConfigIsWrongUse) {
  EXPECT_EQ(complaint(2, {"analyze", "--config", "none.yaml"}), "none.yaml: cannot be read: No such file or directory");
  EXPECT_EQ(complaint(2, {"analyze", "--config", "."}), ".: is a folder; a YAML file is expected");
}

TEST_F(ProgramExit, FlagFaultsNameTheFlagAsTyped) {
  EXPECT_EQ(flag_complaint({"--max-workers", "0"}),
            "--max-workers: 0 is out of range; it must lie between 1 and 2147483647");
  EXPECT_EQ(flag_complaint({"--seed", "-1"}),
            "--seed: -1 is out of range; it must lie between 0 and 18446744073709551615");
  EXPECT_EQ(flag_complaint({"--num_pairs_per_bucket=1e3"}),
            "--num_pairs_per_bucket: 1e3 is not an integer in plain decimal");
  EXPECT_EQ(flag_complaint({"--standard-errors=perhaps"}),
            "--standard-errors: perhaps is not a boolean; write true or false");
  EXPECT_EQ(flag_complaint({"--compat", "python", "--no-standard-errors", "--weighting", "pairs"}),
            "--weighting: pairs contradicts compat python (--compat), which means uniform");
  EXPECT_EQ(flag_complaint({"--compat", "python", "--standard-errors"}),
            "--standard-errors: true contradicts compat python (--compat), which means false");
  EXPECT_EQ(flag_complaint({"--quiet=perhaps"}), "--quiet: perhaps is not a boolean; write true or false");
  EXPECT_EQ(flag_complaint({"--bucket_csv", "./head_metrics.csv"}),
            "--bucket_csv: ./head_metrics.csv is the path of output_csv too; every output needs its own");
}

TEST_F(ProgramExit, SelectionMustLieInTheModel) {
  EXPECT_EQ(flag_complaint({"--layers", "0-2"}), "--layers: 2 is out of range; the model has 2 layers, 0 to 1");
  EXPECT_EQ(flag_complaint({"--q_heads", "4"}), "--q_heads: 4 is out of range; the model has 4 query heads, 0 to 3");
}

TEST_F(ProgramExit, SizesThatContradictTheDumpAreWrongUse) {
  const std::string model = (dump() / "config.json").string();
  EXPECT_EQ(flag_complaint({"--num-q-heads", "12"}), "--num-q-heads: 12 contradicts num_attention_heads 4 in " + model +
                                                         "; leave --num_q_heads out, or correct the one that is wrong");
  EXPECT_EQ(config_complaint("seed: 1\nnum_k_heads: 4\n"),
            "run.yaml:2: num_k_heads: 4 contradicts num_key_value_heads 2 in " + model +
                "; leave --num_k_heads out, or correct the one that is wrong");
  fs::copy(dump(), here_ / "dump", fs::copy_options::recursive);
  fs::remove(here_ / "dump" / "config.json");
  EXPECT_EQ(complaint(2, analyze_words("dump", {"--num_k_heads", "3"})),
            "4 query heads cannot be divided evenly among 3 key heads; pass the model's --num_q_heads and "
            "--num_k_heads");
  EXPECT_EQ(
      complaint(2, analyze_words("dump", {"--num_q_heads", "2"})),
      "dump/l00h02q: query head 2 lies outside the model, since --num_q_heads says 2; 4 captured heads do so in all");
  write_bytes(here_ / "dump" / "config.json", R"({"num_hidden_layers": 1})");
  EXPECT_EQ(
      complaint(2, analyze_words("dump", {})),
      "dump/l01h00q: layer 1 lies outside the model, since dump/config.json says num_hidden_layers 1; 4 captured heads "
      "do so in all");
}

TEST_F(ProgramExit, OneMessageSaysThatNoKeysWereCaptured) {
  fs::copy(dump(), here_ / "dump", fs::copy_options::recursive);
  for (const fs::directory_entry& entry : fs::directory_iterator(here_ / "dump")) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("l00") && name.ends_with("k")) fs::remove_all(entry.path());
  }
  EXPECT_EQ(complaint(3, analyze_words("dump", {"--layers", "0"})),
            "dump: none of the key heads that the selected query heads read was captured");
}

TEST_F(ProgramExit, AnalyzeAloneSaysHowToBegin) {
  const Outcome outcome = run({"analyze"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(first_line(outcome.err), "analyze needs a dump: a folder on disk, or a dataset of the Hugging Face Hub");
  for (const char* part : {"--dataset_local_root", "--dataset_name", "--config", "--help"}) {
    EXPECT_NE(outcome.err.find(part), std::string::npos) << part;
  }
}

// One bucket: no query comes after a bucket of keys.
TEST_F(ProgramExit, RunWithoutAnyPlasticityIsOneWithItsReason) {
  ASSERT_EQ(
      run({"synth", "dump", "--layers", "1", "--q_heads", "2", "--k_heads", "1", "--rows", "64", "--buckets", "1"})
          .code,
      0);
  const Outcome outcome = run(analyze_words("dump", {"--quiet", "--num_triples", "0"}));
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_EQ(outcome.err,
            "attention-plasticity: no head has any plasticity: no bucket with enough queries comes after a bucket with "
            "keys\n");
  EXPECT_TRUE(fs::exists(here_ / "head_metrics.csv"));
}

TEST_F(ProgramExit, MissingOrEmptyDumpIsUnusableInput) {
  fs::create_directory(here_ / "empty");
  write_bytes(here_ / "file", "x");
  EXPECT_NE(complaint(3, analyze_words("nowhere", {})).find("nowhere: there is no such folder"), std::string::npos);
  EXPECT_NE(complaint(3, analyze_words("empty", {})).find("empty: holds no heads"), std::string::npos);
  EXPECT_NE(complaint(3, analyze_words("file", {})).find("file: is not a folder"), std::string::npos);
  EXPECT_NE(complaint(3, {"inspect", "nowhere"}).find("nowhere: there is no such folder"), std::string::npos);
  EXPECT_NE(complaint(3, {"inspect", "empty"}).find("empty: holds no heads"), std::string::npos);
}

TEST_F(ProgramExit, SelectionOfHeadsThatWereNotCapturedIsUnusableInput) {
  fs::create_directories(here_ / "dump");
  fs::copy(dump() / "l00h00q", here_ / "dump" / "l00h00q");
  fs::copy(dump() / "l00h00k", here_ / "dump" / "l00h00k");
  fs::copy(dump() / "config.json", here_ / "dump" / "config.json");
  EXPECT_NE(complaint(3, analyze_words("dump", {"--layers", "1"})).find("none of the selected heads was captured"),
            std::string::npos);
  const Outcome outcome = run(analyze_words("dump", {}));
  EXPECT_EQ(outcome.code, 0) << "heads that were not captured are not failures";
  EXPECT_NE(outcome.out.find("1 head analysed, 0 failed, 7 not captured"), std::string::npos) << outcome.out;
}

TEST_F(ProgramExit, RunWhoseHeadsAllFailLeavesOldTablesAlone) {
  ASSERT_EQ(analyze({"--quiet"}).code, 0);
  const std::string before = read_bytes(here_ / "head_metrics.csv");
  const std::string run_before = read_bytes(here_ / "run.json");
  fs::create_directories(here_ / "dump" / "l00h00q");
  fs::create_directories(here_ / "dump" / "l00h00k");
  write_bytes(here_ / "dump" / "l00h00q" / "data.parquet", "nonsense");
  fs::copy(dump() / "l00h00k" / "data.parquet", here_ / "dump" / "l00h00k" / "data.parquet");
  const Outcome outcome = run(analyze_words("dump", {"--overwrite"}));
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(last_line(outcome.err), "attention-plasticity: every head failed; run.failed.json lists why");
  EXPECT_EQ(read_bytes(here_ / "head_metrics.csv"), before);
  EXPECT_EQ(read_bytes(here_ / "run.json"), run_before);
  const auto json = nlohmann::json::parse(read_bytes(here_ / "run.failed.json"));
  EXPECT_EQ(json["heads"]["done"], 0);
  EXPECT_EQ(json["heads"]["failed"][0]["error"], "this is not a Parquet file; download or capture this head again");
}

TEST_F(ProgramExit, OutputThatCannotBeWrittenIsReportedBeforeTheWork) {
  write_bytes(here_ / "file", "x");
  EXPECT_EQ(complaint(6, analyze_words(dump(), {"--output_dir", "file/below"})),
            "file/below: cannot make this folder: Not a directory");
  fs::create_directory(here_ / "head_metrics.csv");
  EXPECT_EQ(complaint(6, analyze_words(dump(), {})), "head_metrics.csv: cannot write this file: Is a directory");
  EXPECT_EQ(names_in(here_.path()), (std::vector<std::string>{"file", "head_metrics.csv"}));
}

TEST_F(ProgramExit, OutputDoesNotReplaceADevice) {
  // The pipe stands in for /dev/null, which a run by root could replace.
  ASSERT_EQ(::mkfifo((here_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(complaint(6, analyze_words(dump(), {"--bucket_csv", "pipe"})),
            "pipe: is a device or a pipe, and only a regular file can be replaced");
  EXPECT_TRUE(fs::is_fifo(here_ / "pipe"));
  EXPECT_EQ(names_in(here_.path()), std::vector<std::string>{"pipe"});
}

}  // namespace
}  // namespace attention_plasticity

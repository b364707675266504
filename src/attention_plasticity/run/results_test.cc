#include "attention_plasticity/run/results.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "attention_plasticity/error.h"
#include "attention_plasticity/results/run_json.h"
#include "attention_plasticity/run/small_dump_testing.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;
using Texts = std::map<std::string, std::string>;

// Every file of a folder.
Texts texts_in(const fs::path& folder) {
  Texts texts;
  for (const auto& entry : fs::directory_iterator(folder)) {
    texts[entry.path().filename().string()] = read_text(entry.path());
  }
  return texts;
}

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& [name, text] : texts_in(folder)) names.insert(name);
  return names;
}

std::vector<std::string> write(const RunConfig& config, const RunResult& run) {
  return write_results(prepare_run(config), config, run, {});
}

std::set<std::string> complete() {
  return {"head_groups.csv",          "head_metrics.csv", "head_bucket_plasticity.csv", "head_component_weights.csv",
          "head_time_plasticity.csv", "run.json"};
}

std::set<std::string> partial() {
  return {"head_groups.partial.csv",
          "head_metrics.partial.csv",
          "head_bucket_plasticity.partial.csv",
          "head_component_weights.partial.csv",
          "head_time_plasticity.partial.csv",
          "run.partial.json"};
}

std::set<std::string> complete_and_partial() {
  std::set<std::string> names = complete();
  names.merge(partial());
  return names;
}

// The result of a run that was stopped after its first head.
RunResult interrupted(RunResult run) {
  run.results.resize(1);
  run.interrupted = true;
  return run;
}

TEST(Results, HaveATableByDistanceWherePositionExactPlasticityIsMeasured) {
  const SmallDump dump(1, 2, 1);
  const RunConfig config = dump.config({{"--num_triples", "20"}, {"--rope", "none"}});
  const RunResult run = run_of(config);
  EXPECT_EQ(write(config, run), result_paths(prepare_run(config), config));
  std::set<std::string> names = complete();
  names.insert("head_distance_plasticity.csv");
  EXPECT_EQ(names_in(dump.output()), names);
  EXPECT_EQ(texts_in(dump.output()).at("head_distance_plasticity.csv"),
            table_text(TableId::distance, run.results, config));
}

TEST(Results, OfACompleteRunAreTheTablesAndRunJson) {
  const SmallDump dump(1, 2, 1);
  const RunConfig config = dump.config();
  const RunResult run = run_of(config);
  const std::vector<std::string> files = write(config, run);
  EXPECT_EQ(files, result_paths(prepare_run(config), config));
  EXPECT_EQ(names_in(dump.output()), complete());
  const Texts texts = texts_in(dump.output());
  for (const ResultTable& table : result_tables()) {
    if (table.id == TableId::distance) continue;
    EXPECT_EQ(texts.at(std::string(table.file)), table_text(table.id, run.results, config, run.without_group));
  }
  const auto json = nlohmann::json::parse(texts.at("run.json"));
  EXPECT_EQ(json["files"], nlohmann::json(files));
  EXPECT_EQ(json["heads"]["done"], 2);
}

TEST(Results, OfPythonCompatHaveNoTableOverTime) {
  const SmallDump dump(1, 1, 1);
  const RunConfig config = dump.config({{"--compat", "python"}});
  write(config, run_of(config));
  std::set<std::string> expected = complete();
  expected.erase("head_time_plasticity.csv");
  expected.erase("head_groups.csv");
  EXPECT_EQ(names_in(dump.output()), expected);
}

TEST(Results, OfAnInterruptedRunArePartialAndLeaveEarlierOnesUntouched) {
  const SmallDump dump(1, 2, 1);
  const RunConfig config = dump.config();
  const RunResult run = run_of(config);
  write(config, run);
  const Texts before = texts_in(dump.output());

  const std::vector<std::string> files = write(config, interrupted(run));
  EXPECT_EQ(files.front(), (dump.output() / "head_metrics.partial.csv").string());
  EXPECT_EQ(names_in(dump.output()), complete_and_partial());
  const Texts after = texts_in(dump.output());
  for (const auto& [name, text] : before) EXPECT_EQ(after.at(name), text) << name;
  EXPECT_EQ(after.at("head_metrics.partial.csv"),
            table_text(TableId::metrics, std::span(run.results).first(1), config));
  const auto json = nlohmann::json::parse(after.at("run.partial.json"));
  EXPECT_EQ(json["heads"]["done"], 1);
  EXPECT_EQ(json["files"], nlohmann::json(files));
}

TEST(Results, OfACompleteRunTakeThePlaceOfPartialOnes) {
  const SmallDump dump(1, 2, 1);
  const RunConfig config = dump.config();
  const RunResult run = run_of(config);
  write(config, interrupted(run));
  ASSERT_EQ(names_in(dump.output()), partial());
  write(config, run);
  EXPECT_EQ(names_in(dump.output()), complete());
}

TEST(Results, OfARunInWhichEveryHeadFailedLeaveEarlierOnesUntouched) {
  const SmallDump dump(1, 1, 1);
  const RunConfig config = dump.config();
  const RunResult good = run_of(config);
  write(config, good);
  const Texts before = texts_in(dump.output());

  write_text(dump.file(Side::query, 0, 0), "not parquet");
  const std::vector<std::string> files = write(config, run_of(config));
  EXPECT_EQ(files, std::vector<std::string>{(dump.output() / "run.failed.json").string()});
  const Texts after = texts_in(dump.output());
  for (const auto& [name, text] : before) EXPECT_EQ(after.at(name), text) << name;
  const auto json = nlohmann::json::parse(after.at("run.failed.json"));
  EXPECT_EQ(json["heads"]["failed"].size(), 1U);
  EXPECT_EQ(json["files"], nlohmann::json(files));
  EXPECT_EQ(json["tables"], nlohmann::json::array());
  write(config, good);
  EXPECT_EQ(names_in(dump.output()), complete());
}

TEST(Results, NameEveryTableWithItsDigest) {
  const SmallDump dump(1, 2, 1);
  const RunConfig config = dump.config();
  write(config, run_of(config));
  const RunRecord record = parse_run_record(read_text(dump.output() / "run.json"), "run.json");
  EXPECT_EQ(record.schema, 2);
  ASSERT_EQ(record.tables.size(), 5U);
  for (const RecordedTable& table : record.tables) {
    EXPECT_EQ(table.sha256, file_sha256(dump.output() / table.name)) << table.name;
  }
}

// A run with position-exact plasticity has a table by distance, and one without it does not.
TEST(Results, OfACompleteRunLeaveNoTableOfTheRunBefore) {
  const SmallDump dump(1, 2, 1);
  const RunConfig with = dump.config({{"--num_triples", "20"}, {"--rope", "none"}, {"--groups_csv", "g.csv"}});
  const RunConfig without = dump.config({{"--groups_csv", "g.csv"}, {"--standard_errors", "false"}});
  write(with, run_of(with));
  write_text(dump.output() / "mine.csv", "kept");
  EXPECT_TRUE(fs::exists(dump.output() / "head_distance_plasticity.csv"));
  write(without, run_of(without));
  EXPECT_EQ(names_in(dump.output()),
            (std::set<std::string>{"head_metrics.csv", "head_bucket_plasticity.csv", "head_component_weights.csv",
                                   "head_time_plasticity.csv", "mine.csv", "run.json"}));

  // One that was changed since is not a table of the run before.
  write(with, run_of(with));
  write_text(dump.output() / "head_distance_plasticity.csv", "changed");
  write(without, run_of(without));
  EXPECT_EQ(read_text(dump.output() / "head_distance_plasticity.csv"), "changed");
  EXPECT_FALSE(fs::exists(dump.output() / "g.csv"));
}

TEST(Results, OfACompleteRunLeaveNoTableOfARunWithoutDigests) {
  const SmallDump dump(1, 1, 1);
  const RunConfig config = dump.config({{"--standard_errors", "false"}});
  for (const char* name : {"head_groups.csv", "other.csv"}) write_text(dump.output() / name, "old");
  write_text(dump.output() / "run.json",
             R"({"schema": 1, "files": ["o/head_groups.csv", "o/other.csv", "o/run.json"]})");
  write(config, run_of(config));
  EXPECT_FALSE(fs::exists(dump.output() / "head_groups.csv"));
  EXPECT_TRUE(fs::exists(dump.output() / "other.csv")) << "not a usual name of a table";
}

TEST(Results, OfARunStoppedBeforeItsFirstHeadArePartialRunJsonAlone) {
  const SmallDump dump(1, 1, 1);
  const RunConfig config = dump.config();
  RunResult run;
  run.interrupted = true;
  write(config, run);
  EXPECT_EQ(names_in(dump.output()), std::set<std::string>{"run.partial.json"});
}

TEST(Results, MayHaveNamesAsLongAsTheFileSystemAllows) {
  const SmallDump dump(1, 2, 1);
  const std::string longest = std::string(251, 'x') + ".csv";
  const RunConfig config = dump.config({{"--time_csv", longest}});
  const RunResult run = run_of(config);
  check_outputs(prepare_run(config), config);
  const std::vector<std::string> partial = write(config, interrupted(run));
  const ResultFiles left(dump.output() / "head_metrics.partial.csv");
  EXPECT_TRUE(left.left_out().empty());
  EXPECT_EQ(left.text(TableId::time), table_text(TableId::time, std::span(run.results).first(1), config));
  write(config, run);
  EXPECT_TRUE(fs::exists(dump.output() / longest));
  for (const std::string& file : partial) EXPECT_FALSE(fs::exists(file)) << file;
}

TEST(Results, AppearAllOrNone) {
  const SmallDump dump(1, 1, 1);
  const RunConfig config = dump.config();
  fs::create_directories(config.tables[TableId::time]);
  EXPECT_THROW(write(config, run_of(config)), Error);
  EXPECT_EQ(fs::directory_iterator(dump.output())->path(), config.tables[TableId::time]);
  EXPECT_EQ(std::distance(fs::directory_iterator(dump.output()), {}), 1);
}

TEST(CheckOutputs, MakesFoldersAndLeavesNoFile) {
  const SmallDump dump(1, 1, 1);
  check_outputs(prepare_run(dump.config()), dump.config());
  EXPECT_TRUE(fs::is_empty(dump.output()));
}

std::string earlier_results_problem(const RunConfig& config, const std::string& run_json) {
  write_text(run_json_path(config), run_json);
  try {
    check_outputs(prepare_run(config), config);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_EQ(error.file(), run_json_path(config));
    return error.what();
  }
  return "";
}

TEST(CheckOutputs, RefuseToReplaceResultsOfAnotherInputOrModel) {
  const SmallDump dump(1, 1, 1);
  const RunConfig config = dump.config();
  const std::string root = dump.root().string();
  const auto run = [](const std::string& input, const std::string& model) {
    return R"({"schema": 1, "files": [], "input": {)" + input + R"(}, "model": {"name": ")" + model + R"("}})";
  };
  EXPECT_EQ(earlier_results_problem(config, run(R"("root": ")" + root + "\"", "dump")), "");
  EXPECT_EQ(earlier_results_problem(config, run(R"("root": ")" + root + "/../dump/\"", "dump")), "");
  const std::string advice = "; pass `overwrite` to replace them, or another `output_dir`";
  EXPECT_EQ(earlier_results_problem(config, run(R"("root": "/else/dump")", "dump")),
            "these are the results of dump from /else/dump, and this run is of dump from " + root + advice);
  EXPECT_EQ(earlier_results_problem(config, run(R"("root": ")" + root + "\"", "lab")),
            "these are the results of lab from " + root + ", and this run is of dump from " + root + advice);
  EXPECT_EQ(earlier_results_problem(config, run(R"("repo": "a/b", "revision": "main")", "dump")),
            "these are the results of dump from a/b at main, and this run is of dump from " + root + advice);
  EXPECT_TRUE(earlier_results_problem(config, "{").starts_with("it is not known whose results these are: line 1"));
  const RunConfig overwrite = dump.config({{"--overwrite", "true"}});
  EXPECT_EQ(earlier_results_problem(overwrite, run(R"("root": "/else/dump")", "lab")), "");
  EXPECT_EQ(earlier_results_problem(overwrite, "{"), "");
}

TEST(CheckOutputs, TellBranchesOfADatasetApart) {
  const SmallDump dump(1, 1, 1);
  const RunConfig config = dump.config();
  PreparedRun prepared = prepare_run(config);
  prepared.hub = HubOrigin{"a/b", "main", "c0"};
  const auto is_refused = [&](const char* revision) {
    write_text(run_json_path(config), std::string(R"({"schema": 1, "files": [], "model": {"name": "dump"},
                                         "input": {"repo": "a/b", "revision": ")") +
                                          revision + R"("}})");
    try {
      check_earlier_results(prepared, config);
    } catch (const Error&) {
      return true;
    }
    return false;
  };
  EXPECT_FALSE(is_refused("main"));
  EXPECT_TRUE(is_refused("other"));
}

TEST(CheckOutputs, NamesTheFileThatCannotBeWritten) {
  const SmallDump dump(1, 1, 1);
  const RunConfig config = dump.config();
  for (const std::string& path : result_paths(prepare_run(config), config)) {
    fs::create_directories(path);
    try {
      check_outputs(prepare_run(config), config);
      ADD_FAILURE() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::output);
      EXPECT_EQ(error.file(), path);
    }
    fs::remove(path);
  }
}

}  // namespace
}  // namespace attention_plasticity

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
#include "attention_plasticity/run/result_tables.h"
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

// As if the run had been stopped after its first head.
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

TEST(Results, OfARunInWhichEveryHeadFailedAreRunJsonAlone) {
  const SmallDump dump(1, 1, 1);
  const RunConfig config = dump.config();
  write(config, run_of(config));
  const Texts before = texts_in(dump.output());

  write_text(dump.file(Side::query, 0, 0), "not parquet");
  const std::vector<std::string> files = write(config, run_of(config));
  EXPECT_EQ(files, std::vector<std::string>{run_json_path(config)});
  const Texts after = texts_in(dump.output());
  EXPECT_EQ(names_in(dump.output()), complete());
  for (const auto& [name, text] : before) {
    if (name == "run.json") continue;
    EXPECT_EQ(after.at(name), text) << name;
  }
  const auto json = nlohmann::json::parse(after.at("run.json"));
  EXPECT_EQ(json["heads"]["failed"].size(), 1U);
  EXPECT_EQ(json["files"], nlohmann::json(files));
}

TEST(Results, OfARunStoppedBeforeItsFirstHeadArePartialRunJsonAlone) {
  const SmallDump dump(1, 1, 1);
  const RunConfig config = dump.config();
  RunResult run;
  run.interrupted = true;
  write(config, run);
  EXPECT_EQ(names_in(dump.output()), std::set<std::string>{"run.partial.json"});
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

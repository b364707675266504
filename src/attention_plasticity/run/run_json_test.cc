#include "attention_plasticity/run/results.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "attention_plasticity/dump/head_file.h"
#include "attention_plasticity/options/config_fields.h"
#include "attention_plasticity/run/small_dump_testing.h"
#include "attention_plasticity/version.h"

namespace attention_plasticity {
namespace {

using nlohmann::json;

std::vector<WrittenFile> written() { return {{"out/head_metrics.csv", "ab12"}, {"out/run.json"}}; }

struct MeasuredRun {
  RunConfig config;
  PreparedRun plan;
  RunResult result;
};

MeasuredRun run(const RunConfig& config) {
  PreparedRun plan = prepare_run(config);
  RunResult result = run_of(config);
  return {config, std::move(plan), std::move(result)};
}

std::string text_of(const MeasuredRun& run, std::span<const WrittenFile> files, const RunResources& resources = {}) {
  const RunSummary summary = summarize_run(run.result, run.config);
  return run_json_text(run_contents(run.plan, run.config, run.result, summary, resources).record, files);
}

json json_of(const MeasuredRun& run) { return json::parse(text_of(run, written(), {2, 1.5, 2.75, 1 << 20})); }

std::set<std::string> keys(const json& object) {
  std::set<std::string> names;
  for (const auto& [name, value] : object.items()) names.insert(name);
  return names;
}

TEST(RunJson, HoldsTheSectionsOfItsContractInOrder) {
  const SmallDump dump(1, 2, 1);
  const MeasuredRun some = run(dump.config());
  const std::string text = text_of(some, written());
  std::vector<std::string> names;
  const auto parsed = nlohmann::ordered_json::parse(text);
  for (const auto& [name, value] : parsed.items()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"schema", "program", "input", "model", "rotation", "sampling", "config",
                                             "heads", "summary", "groups", "files", "tables", "resources"}));
  EXPECT_TRUE(text.ends_with("}\n"));
}

TEST(RunJson, SaysWhichProgramWroteIt) {
  const SmallDump dump(1, 1, 1);
  const json parsed = json_of(run(dump.config()));
  EXPECT_EQ(parsed["schema"], json(2));
  const ProgramVersion program = program_version();
  EXPECT_EQ(parsed["program"], (json{{"version", program.version},
                                     {"commit", program.commit},
                                     {"compiler", program.compiler},
                                     {"simd", program.simd}}));
}

TEST(RunJson, ListsTheInputFilesWithSizesAndTimes) {
  const SmallDump dump(1, 2, 1);
  dump.write(Side::query, 5, 0, small_rows(1));  // not selected, so no input
  std::filesystem::last_write_time(
      dump.file(Side::query, 0, 1),
      std::chrono::file_clock::from_sys(std::chrono::sys_days{std::chrono::year{2024} / 2 / 29} +
                                        std::chrono::hours{13} + std::chrono::milliseconds{5250}));
  const json input = json_of(run(dump.config({{"--layers", "0"}})))["input"];
  EXPECT_EQ(keys(input), (std::set<std::string>{"kind", "root", "folder", "revision", "commit", "files"}));
  EXPECT_EQ(input["kind"], "local");
  EXPECT_EQ(input["root"], dump.root().string());
  EXPECT_TRUE(input["revision"].is_null());
  EXPECT_TRUE(input["commit"].is_null());
  ASSERT_EQ(input["files"].size(), 3U);
  std::vector<std::string> names;
  for (const json& file : input["files"]) {
    names.push_back(file["file"]);
    EXPECT_EQ(file["bytes"], json(std::filesystem::file_size(dump.root() / names.back())));
    EXPECT_EQ(file["modified"].get<std::string>().size(), std::string("2024-02-29T13:00:05Z").size());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"l00h00k/data.parquet", "l00h00q/data.parquet", "l00h01q/data.parquet"}));
  EXPECT_EQ(input["files"][2]["modified"], "2024-02-29T13:00:05Z");
}

TEST(RunJson, NamesTheDigestOfEveryFileThatWasRead) {
  const SmallDump dump(1, 2, 1);
  write_text(dump.file(Side::query, 0, 1), "nonsense");
  const json files = json_of(run(dump.config()))["input"]["files"];
  ASSERT_EQ(files.size(), 3U);
  EXPECT_EQ(files[0]["xxh128"], read_head_file(dump.file(Side::key, 0, 0), Side::key).input.digest);
  EXPECT_EQ(files[1]["xxh128"], read_head_file(dump.file(Side::query, 0, 0), Side::query).input.digest);
  EXPECT_NE(files[0]["xxh128"], files[1]["xxh128"]);
  EXPECT_EQ(files[1]["xxh128"].get<std::string>().size(), 32U);
  EXPECT_TRUE(files[2]["xxh128"].is_null());
}

TEST(RunJson, LeavesAMissingFileOutOfTheInput) {
  const SmallDump dump(1, 2, 2);
  dump.remove(Side::key, 0, 0);
  const json files = json_of(run(dump.config()))["input"]["files"];
  ASSERT_EQ(files.size(), 3U);
  EXPECT_EQ(files[0]["file"], "l00h00q/data.parquet");
  EXPECT_EQ(files[1]["file"], "l00h01k/data.parquet");
}

TEST(RunJson, DescribesTheModelAndItsLayers) {
  const SmallDump dump(3, 4, 2);
  for (int head = 0; head < 4; ++head) {
    HeadRows rows = small_rows(9);
    rows.window = 512;
    dump.write(Side::query, 1, head, rows);
    dump.remove(Side::query, 2, head);
  }
  const json model = json_of(run(dump.config()))["model"];
  EXPECT_EQ(model, (json{{"name", "dump"},
                         {"num_layers", 3},
                         {"num_q_heads", 4},
                         {"num_k_heads", 2},
                         {"head_dim", 4},
                         {"layers",
                          {{{"layer", 0}, {"attention", "full"}, {"window", nullptr}, {"rope", nullptr}},
                           {{"layer", 1}, {"attention", "sliding"}, {"window", 512}, {"rope", nullptr}}}}}));
}

TEST(RunJson, HoldsTheSamplingOrNull) {
  const SmallDump dump(1, 1, 1);
  EXPECT_EQ(json_of(run(dump.config()))["sampling"], (json{{"strategy", nullptr}, {"bucket_size", nullptr}}));
  write_text(dump.root() / "_saver_state.json",
             R"({"model_metadata": {"sampling_strategy": "uniform", "sampling_bucket_size": 128}})");
  EXPECT_EQ(json_of(run(dump.config()))["sampling"], (json{{"strategy", "uniform"}, {"bucket_size", 128}}));
}

TEST(RunJson, HoldsEveryFieldOfTheConfiguration) {
  const SmallDump dump(1, 2, 1);
  const json config = json_of(run(dump.config({{"--q_heads", "0-1"}, {"--p_alpha", "0.05"}})))["config"];
  std::set<std::string> names;
  for (const Field& field : config_fields()) names.emplace(field.name);
  EXPECT_EQ(keys(config), names);
  EXPECT_EQ(config["q_heads"], json({0, 1}));
  EXPECT_TRUE(config["layers"].is_null());
  EXPECT_EQ(config["p_alpha"], json(0.05));
  EXPECT_EQ(config["max_tokens_per_head"], json(50000));
  EXPECT_EQ(config["standard_errors"], json(true));
  EXPECT_EQ(config["method"], json("positional"));
  EXPECT_EQ(config["compat"], json("none"));
  EXPECT_EQ(config["dataset_local_root"], json(dump.root().string()));
  EXPECT_TRUE(config["max_workers"].is_null());
}

TEST(RunJson, CountsHeadsAndSaysWhyTheyFailed) {
  const SmallDump dump(2, 2, 1);
  dump.remove(Side::query, 0, 0);
  write_text(dump.file(Side::query, 1, 1), "not parquet");
  const MeasuredRun some = run(dump.config());
  const json heads = json_of(some)["heads"];
  EXPECT_EQ(heads["done"], json(2));
  EXPECT_EQ(heads["skipped"], json(1));
  EXPECT_EQ(heads["failed"], json::array({{{"layer", 1},
                                           {"q_head", 1},
                                           {"file", dump.file(Side::query, 1, 1).string()},
                                           {"error", some.result.failures.at(0).message}}}));
}

TEST(RunJson, SummarizesTheModel) {
  const SmallDump dump(1, 2, 1);
  MeasuredRun some = run(dump.config());
  some.result.results[0].plasticity.overall = 0.125;
  some.result.results[1].plasticity.overall = 0.875;
  some.result.model_without_group.overall = {0, 1, 2};
  const json summary = json_of(some)["summary"];
  EXPECT_EQ(keys(summary["ap_overall"]),
            (std::set<std::string>{"heads", "mean", "se", "share_below_0.25", "share_above_0.75"}));
  EXPECT_EQ(summary["ap_overall"]["heads"], json(2));
  EXPECT_EQ(summary["ap_overall"]["mean"], json(0.5));
  EXPECT_NEAR(summary["ap_overall"]["se"].get<double>(), std::sqrt(4.0 / 3), 1e-15);
  EXPECT_EQ(summary["ap_overall"]["share_below_0.25"], json(0.5));
  EXPECT_EQ(summary["ap_overall"]["share_above_0.75"], json(0.5));
}

TEST(RunJson, NamesTheGroupsByADigestOfTheirExamples) {
  const SmallDump dump(1, 2, 1);
  MeasuredRun some = run(dump.config());
  some.result.group_count = 3;
  some.result.examples = {3, 20, 100};
  // printf '3\n20\n100\n' | sha256sum
  EXPECT_EQ(json_of(some)["groups"],
            (json{{"count", 3},
                  {"examples", 3},
                  {"sha256", "0493a82674518bcb98a1ccce697e30b61573ff7dc9b029ade92bf20bb9fac803"}}));
  EXPECT_TRUE(json_of(run(dump.config({{"--standard_errors", "false"}})))["groups"].is_null());
}

TEST(RunJson, NamesTheRotationOfEachLayerAndSummarizesWhatFollowsIt) {
  const SmallDump dump(2, 1, 1);
  write_text(dump.root() / "config.json", R"({"model_type": "llama", "head_dim": 4, "rope_theta": 100.0,
                                              "no_rope_layers": [1, 0]})");
  MeasuredRun some = run(dump.config({{"--num_triples", "20"}}));
  some.result.results[0].exact->overall = 0.125;
  some.result.results[1].exact->overall = 0.5;
  some.result.model_without_group.exact = {0, 1, 2};
  const json parsed = json_of(some);
  EXPECT_EQ(parsed["model"]["layers"][0]["rope"],
            (json{{"kind", "default"}, {"theta", 100.0}, {"first", 0}, {"dim", 4}, {"layout", "half"}}));
  EXPECT_EQ(parsed["model"]["layers"][1]["rope"],
            (json{{"kind", "none"}, {"theta", nullptr}, {"first", 0}, {"dim", 0}, {"layout", nullptr}}));
  EXPECT_EQ(parsed["summary"]["ap_exact"]["mean"], json(0.3125));
  EXPECT_NEAR(parsed["summary"]["ap_exact"]["se"].get<double>(), std::sqrt(4.0 / 3), 1e-15);
  EXPECT_EQ(parsed["summary"]["ap_exact"]["share_below_0.25"], json(0.5));
  EXPECT_FALSE(json_of(run(dump.config()))["summary"].contains("ap_exact"));
}

TEST(RunJson, HasNullForWhatIsNotKnown) {
  const SmallDump dump(1, 1, 1);
  write_text(dump.file(Side::query, 0, 0), "not parquet");
  const json parsed = json_of(run(dump.config()));
  EXPECT_TRUE(parsed["model"]["head_dim"].is_null());
  EXPECT_EQ(parsed["model"]["layers"], json::array());
  for (const char* figure : {"mean", "se", "share_below_0.25", "share_above_0.75"}) {
    EXPECT_TRUE(parsed["summary"]["ap_overall"][figure].is_null()) << figure;
  }
  EXPECT_EQ(parsed["summary"]["ap_overall"]["heads"], json(0));
}

TEST(RunJson, ListsTheFilesWrittenAndTheCost) {
  const SmallDump dump(1, 1, 1);
  const json parsed = json_of(run(dump.config()));
  EXPECT_EQ(parsed["files"], json({"out/head_metrics.csv", "out/run.json"}));
  EXPECT_EQ(parsed["tables"], json::array({{{"file", "out/head_metrics.csv"}, {"sha256", "ab12"}}}));
  EXPECT_EQ(parsed["resources"], (json{{"workers", 2}, {"wall_s", 1.5}, {"cpu_s", 2.75}, {"peak_rss_bytes", 1 << 20}}));
  const MeasuredRun none = run(dump.config());
  EXPECT_EQ(json::parse(text_of(none, {}))["files"], json::array());
}

TEST(RunJson, HoldsIntegersAsIntegers) {
  const SmallDump dump(1, 1, 1);
  const json parsed = json_of(run(dump.config({{"--seed", "18446744073709551615"}})));
  EXPECT_EQ(parsed["config"]["seed"], json(std::uint64_t{18446744073709551615U}));
  for (const json& value : {parsed["schema"], parsed["model"]["num_layers"], parsed["heads"]["done"],
                            parsed["heads"]["skipped"], parsed["resources"]["peak_rss_bytes"]}) {
    EXPECT_TRUE(value.is_number_integer()) << value;
  }
}

TEST(RunJson, IsValidWhateverANameHolds) {
  const SmallDump dump(1, 1, 1);
  MeasuredRun some = run(dump.config());
  some.plan.model_name = "a \"b\" \\ c\n\t\x01 \xff\xfe ü";
  some.config.dataset_local_root = "\xc3\x28";
  some.result.failures.push_back({{0, 0, 0}, "\x80.parquet", "broken \xe2\x82"});
  const json parsed = json_of(some);
  EXPECT_EQ(parsed["model"]["name"], "a \"b\" \\ c\n\t\x01 \uFFFD\uFFFD ü");
  EXPECT_EQ(parsed["input"]["root"], "\uFFFD(");
  EXPECT_EQ(parsed["heads"]["failed"][0]["file"], "\uFFFD.parquet");
}

}  // namespace
}  // namespace attention_plasticity

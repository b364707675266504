#include "attention_plasticity/results/run_record.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "attention_plasticity/base/refusal_testing.h"
#include "attention_plasticity/base/temporary_folder_testing.h"

namespace attention_plasticity {
namespace {

TEST(RunRecord, HoldsWhoseTablesTheyAre) {
  const RunRecord record = parse_run_record(
      R"({"schema": 2, "input": {"repo": "a/b", "revision": "main", "root": null, "folder": "/cache/x"},
          "model": {"name": "lab"}, "config": {"output_csv": "sub/m.csv", "time_csv": null},
          "heads": {"done": 3}, "summary": {"ap_overall": {"mean": 0.5}, "ap_exact": {"mean": null}},
          "files": ["o/sub/m.csv", "o/run.json"], "tables": [{"file": "o/sub/m.csv", "sha256": ")" +
          std::string(64, 'a') + R"("}]})",
      "run.json");
  EXPECT_EQ(record.schema, 2);
  EXPECT_EQ(record.input.repo, "a/b");
  EXPECT_EQ(record.input.revision, "main");
  EXPECT_EQ(record.input.root, std::nullopt);
  EXPECT_EQ(record.input.folder, "/cache/x");
  EXPECT_EQ(record.model, "lab");
  EXPECT_EQ(record.names, (std::map<std::string, std::string>{{"output_csv", "m.csv"}}));
  EXPECT_EQ(record.heads_done, 3U);
  EXPECT_EQ(record.means.at("ap_overall"), 0.5);
  EXPECT_TRUE(std::isnan(record.means.at("ap_exact")));
  ASSERT_EQ(record.tables.size(), 1U);
  ASSERT_NE(record.find("m.csv"), nullptr);
  EXPECT_EQ(record.find("m.csv")->sha256, std::string(64, 'a'));
  EXPECT_EQ(record.find("run.json"), nullptr);
}

TEST(RunRecord, OfSchemaOneHasNamesWithoutDigests) {
  const RunRecord record = parse_run_record(R"({"schema": 1, "files": ["o/m.csv", "o/run.json"]})", "run.json");
  EXPECT_EQ(record.schema, 1);
  ASSERT_NE(record.find("m.csv"), nullptr);
  EXPECT_EQ(record.find("m.csv")->sha256, std::nullopt);
  EXPECT_EQ(record.heads_done, std::nullopt);
}

TEST(RunRecord, RefusesWhatIsNotOfARun) {
  const auto problem = [](const char* text) { return refusal([&] { parse_run_record(text, "run.json"); }); };
  const std::string advice = "; move it away to use the tables alone";
  EXPECT_EQ(problem("{}"), "input: run.json: has no schema, so it is not the run.json of a run" + advice);
  EXPECT_EQ(problem(R"({"schema": 3})"),
            "input: run.json: is of schema 3, and this program reads schemas 1 to 2" + advice);
  EXPECT_EQ(problem(R"({"schema": 2, "files": []})"),
            "input: run.json: names no tables, so it is not the run.json of a run" + advice);
  EXPECT_EQ(problem(R"({"schema": 1})"),
            "input: run.json: names no files, so it is not the run.json of a run" + advice);
  EXPECT_EQ(problem(R"({"schema": 2, "tables": [{"file": "x.csv"}]})"),
            "input: run.json: has a table without file or sha256" + advice);
  EXPECT_EQ(problem(R"({"schema": 2, "tables": [{"file": "victim.txt", "sha256": ""}]})"),
            "input: run.json: has the SHA-256 '' for a table, which is not 64 hexadecimal digits" + advice);
  EXPECT_EQ(
      problem((R"({"schema": 2, "tables": [{"file": "a.csv", "sha256": ")" + std::string(64, 'A') + "\"}]}").c_str()),
      "input: run.json: has the SHA-256 '" + std::string(64, 'A') +
          "' for a table, which is not 64 hexadecimal digits" + advice);
}

// The example of FIPS 180-2.
TEST(FileSha256, IsThatOfItsBytes) {
  const TemporaryFolder folder;
  std::ofstream(folder / "x") << "abc";
  EXPECT_EQ(file_sha256(folder / "x"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  std::ofstream(folder / "large") << std::string(200'000, 'a');
  EXPECT_EQ(file_sha256(folder / "large").size(), 64U);
  EXPECT_NE(refusal([&] { file_sha256(folder / "none"); }), "");
}

}  // namespace
}  // namespace attention_plasticity

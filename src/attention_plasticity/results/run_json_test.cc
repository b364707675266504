#include "attention_plasticity/results/run_json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "attention_plasticity/base/refusal_testing.h"
#include "attention_plasticity/base/temporary_folder_testing.h"
#include "attention_plasticity/results/result_files.h"
#include "places.h"

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

const std::filesystem::path source = source_folder();

std::string refused(const std::string& text) {
  return refusal([&] { parse_run_description(text, "run.json"); });
}

std::string with_model(const std::string& model) { return R"({"schema": 1, "model": )" + model + "}"; }

TEST(RunDescription, HoldsShapeAndWindows) {
  const RunDescription run =
      parse_run_description(with_model(R"({"name": "m", "num_layers": 3, "num_q_heads": 6, "num_k_heads": 2, "layers": [
          {"layer": 0, "attention": "full", "window": null, "rope": null},
          {"layer": 2, "attention": "sliding", "window": 512.0, "rope": {"theta": 10000.0}}]})"),
                            "run.json");
  EXPECT_EQ(run.model, "m");
  EXPECT_EQ(run.num_layers, 3);
  EXPECT_EQ(run.num_q_heads, 6);
  EXPECT_EQ(run.num_k_heads, 2);
  EXPECT_EQ(run.windows, (std::map<int, std::int64_t>{{2, 512}}));
}

TEST(RunDescription, HoldsTheSampling) {
  const auto sampling = [](const std::string& json) {
    const std::string model = R"({"num_layers": 1, "num_q_heads": 1, "num_k_heads": 1, "layers": []})";
    return parse_run_description(R"({"model": )" + model + R"(, "sampling": )" + json + "}", "run.json").sampling;
  };
  const auto uniform = sampling(R"({"strategy": "uniform", "bucket_size": 128.0})");
  ASSERT_TRUE(uniform);
  EXPECT_FALSE(uniform->logarithmic);
  EXPECT_EQ(uniform->bucket_size, 128);
  const auto logarithmic = sampling(R"({"strategy": "log", "bucket_size": null})");
  ASSERT_TRUE(logarithmic);
  EXPECT_TRUE(logarithmic->logarithmic);
  EXPECT_FALSE(logarithmic->bucket_size);
  EXPECT_FALSE(sampling(R"({"strategy": null, "bucket_size": null})"));
  const auto senseless = sampling(R"({"strategy": "uniform", "bucket_size": -1})");
  EXPECT_TRUE(senseless && !senseless->bucket_size);
  EXPECT_FALSE(sampling("null"));
}

TEST(RunDescription, IsReadFromARunOfThisProgram) {
  const auto run = ResultFiles(source / "results/smollm2-135m").description();
  ASSERT_TRUE(run);
  EXPECT_EQ(run->num_layers, 30);
  EXPECT_EQ(run->num_q_heads, 9);
  EXPECT_EQ(run->num_k_heads, 3);
  EXPECT_TRUE(run->windows.empty());
}

TEST(RunDescription, MayBeMissing) {
  EXPECT_FALSE(ResultFiles(source / "tests/golden/smollm2-135m/exact/head_exact.csv").description());
}

TEST(RunDescription, RefusesOtherFilesAndNamesTheKey) {
  EXPECT_EQ(refused("{\n\n x"), "input: run.json: line 3: is not valid JSON");
  EXPECT_EQ(refused("[1]"), "input: run.json: is a list of 1; a JSON object is expected");
  EXPECT_EQ(refused(R"({"schema": 1})"),
            "input: run.json: has no model, so it is not the run.json of a run; move it away to use the metrics alone");
  EXPECT_EQ(refused(with_model(R"({"num_layers": 0.5})")),
            "input: run.json: model.num_layers should be a whole number from 1 to 10000");
  EXPECT_EQ(refused(with_model(R"({"num_layers": 2, "num_q_heads": 3, "num_k_heads": 2})")),
            "input: run.json: model.num_q_heads should be a multiple of model.num_k_heads: 3 is not a multiple of 2");
  const std::string shape = R"("num_layers": 2, "num_q_heads": 2, "num_k_heads": 2, "layers": )";
  EXPECT_EQ(refused(with_model("{" + shape + R"([{"layer": 2, "attention": "full"}]})")),
            "input: run.json: model.layers[0].layer should be a whole number from 0 to 1");
  EXPECT_EQ(refused(with_model("{" + shape + R"([{"layer": 1, "attention": "sliding", "window": null}]})")),
            "input: run.json: model.layers[0].window should be a whole number from 1 to 9007199254740992");
  EXPECT_EQ(refused(with_model("{" + shape + R"([{"layer": 1, "attention": "local"}]})")),
            "input: run.json: model.layers[0].attention should be full or sliding");
  EXPECT_EQ(refused(with_model("{" + shape + "[3]}")), "input: run.json: model.layers[0] should be an object");
  EXPECT_EQ(refused(R"({"model": {"name": "a", "name": "b"}})"), "input: run.json: holds the key 'name' twice");
  EXPECT_EQ(refused(R"({"schema": 1, "model": {"schema": 1}, "schema": 1})"),
            "input: run.json: holds the key 'schema' twice");
}

}  // namespace
}  // namespace attention_plasticity

// Compares whole runs on the embedded dumps with the figures of tests/golden. These come from an independent
// implementation in NumPy and SciPy, and for `python-compat` from the Python toolkit itself.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stop_token>

#include "attention_plasticity/base/highway_targets_testing.h"
#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/rotation/rotation_json.h"
#include "attention_plasticity/run/analysis_run.h"
#include "attention_plasticity/run/results.h"
#include "csv_table.h"
#include "places.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;
const fs::path source = source_folder();

struct GoldenCase {
  const char* name;  // name of the folder below tests/golden/minidoc-qwen3
  std::vector<Setting> settings;
};

void PrintTo(const GoldenCase& golden, std::ostream* out) { *out << golden.name; }

RunResult run(const RunConfig& config) {
  const RunObserver silent{[](const HeadEvent&) {}, [](const std::string&) {},
                           [](const std::string& warning) { ADD_FAILURE() << warning; }};
  PreparedRun prepared = prepare_run(config);
  return run_analysis(prepared, config, {.workers = 2}, silent);
}

// The columns of `table` that `other` has.
CsvTable columns_of(const CsvTable& table, const CsvTable& other) {
  CsvTable part;
  part.columns = other.columns;
  part.rows.resize(table.rows.size());
  for (const std::string& column : other.columns) {
    const auto at = static_cast<std::size_t>(std::ranges::find(table.columns, column) - table.columns.begin());
    for (std::size_t row = 0; row < table.rows.size(); ++row) part.rows[row].push_back(table.rows[row].at(at));
  }
  return part;
}

void expect_pooled_figures(const RunResult& result, const RunConfig& config, const fs::path& folder) {
  const CsvTable golden = read_csv(folder / "head_metrics.csv");
  expect_same_figures(columns_of(parse_csv(table_text(TableId::metrics, result.results, config)), golden), golden,
                      "head_metrics.csv");
  expect_same_figures(parse_csv(table_text(TableId::buckets, result.results, config)),
                      read_csv(folder / "head_bucket_plasticity.csv"), "head_bucket_plasticity.csv");
  expect_same_figures(parse_csv(table_text(TableId::components, result.results, config)),
                      read_csv(folder / "head_component_weights.csv"), "head_component_weights.csv");
}

void expect_exact_figures(const RunResult& result, const RunConfig& config, const fs::path& folder) {
  // The golden tables hold some of the columns.
  for (const auto& [table, file] :
       {std::pair(TableId::metrics, "head_exact.csv"), std::pair(TableId::time, "head_time_exact.csv"),
        std::pair(TableId::distance, "head_distance_plasticity.csv"),
        std::pair(TableId::groups, "head_groups_exact.csv")}) {
    const CsvTable golden = read_csv(folder / file);
    expect_same_figures(columns_of(parse_csv(table_text(table, result.results, config, result.without_group)), golden),
                        golden, std::string(result_table(table).file));
  }
}

void expect_rotation_shares(const RunResult& result, const fs::path& file) {
  const nlohmann::json golden = nlohmann::json::parse(read_text_file(file));
  ASSERT_TRUE(result.rotation_shares);
  const auto shares = nlohmann::json(rotation_json(RotationSource::config, &*result.rotation_shares));
  EXPECT_EQ(shares["ways"], golden["ways"]);
  const auto expect_near = [](const nlohmann::json& found, const nlohmann::json& expected) {
    ASSERT_EQ(found.size(), expected.size());
    ASSERT_EQ(found.size(), 41U);
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i].get<double>(), expected[i].get<double>(), 1e-9) << "way " << i;
    }
  };
  expect_near(shares["share"], golden["share"]);
  ASSERT_EQ(shares["layers"].size(), golden["layers"].size());
  for (std::size_t i = 0; i < golden["layers"].size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(shares["layers"][i]["layer"], golden["layers"][i]["layer"]);
    expect_near(shares["layers"][i]["share"], golden["layers"][i]["share"]);
  }
  EXPECT_EQ(shares["configured"], *std::ranges::max_element(shares["share"])) << "both models use a known way";
}

// results/ holds what `make sample-results` wrote. A change of the figures needs new sample results.
void expect_sample_results(const RunResult& result, const RunConfig& config, const fs::path& folder) {
  const auto same = [&](const std::string& text, const char* file) {
    expect_same_figures(parse_csv(text), read_csv(folder / file), file);
  };
  same(table_text(TableId::metrics, result.results, config), "head_metrics.csv");
  same(table_text(TableId::buckets, result.results, config), "head_bucket_plasticity.csv");
  same(table_text(TableId::components, result.results, config), "head_component_weights.csv");
  same(table_text(TableId::time, result.results, config), "head_time_plasticity.csv");
  same(table_text(TableId::distance, result.results, config), "head_distance_plasticity.csv");
}

// A run without settings gives both the positional figures and those of position-exact plasticity.
class DefaultRun : public testing::TestWithParam<std::string> {};

TEST_P(DefaultRun, HoldsTheGoldenFigures) {
  const std::string& name = GetParam();
  const RunConfig config =
      resolve_config(std::vector<Setting>{{"dataset_local_root", (source / "examples" / name).string(), "test"}});
  const RunResult result = run(config);
  EXPECT_TRUE(result.failures.empty());
  expect_pooled_figures(result, config, source / "tests/golden" / name / "positional");
  expect_exact_figures(result, config, source / "tests/golden" / name / "exact");
  expect_rotation_shares(result, source / "tests/golden" / name / "exact" / "rotation.json");
  if (name == "smollm2-135m") expect_sample_results(result, config, source / "results" / name);
}

INSTANTIATE_TEST_SUITE_P(Runs, DefaultRun, testing::Values("minidoc-qwen3", "smollm2-135m"),
                         [](const auto& test) { return test.param.substr(0, test.param.find('-')); });

// The figures must not depend on the vector instructions of the machine that runs the tests. Sanitized, it would take
// five minutes; the tests of the kernels run every instruction set too.
#ifndef __SANITIZE_ADDRESS__
TEST(EveryInstructionSet, HoldsTheGoldenFigures) {
  const RunConfig config = resolve_config(
      std::vector<Setting>{{"dataset_local_root", (source / "examples/minidoc-qwen3").string(), "test"}});
  for_every_target([&](const char* target) {
    SCOPED_TRACE(target);
    const RunResult result = run(config);
    expect_pooled_figures(result, config, source / "tests/golden/minidoc-qwen3/positional");
    expect_exact_figures(result, config, source / "tests/golden/minidoc-qwen3/exact");
    expect_rotation_shares(result, source / "tests/golden/minidoc-qwen3/exact/rotation.json");
  });
}
#endif

// Other settings. All run on minidoc-qwen3 and without position-exact plasticity, which takes most of the time.
class Golden : public testing::TestWithParam<GoldenCase> {};

TEST_P(Golden, FiguresHold) {
  const GoldenCase& golden = GetParam();
  std::vector<Setting> settings = golden.settings;
  settings.push_back({"num_triples", "0", "test"});
  settings.push_back({"dataset_local_root", (source / "examples/minidoc-qwen3").string(), "test"});
  const RunConfig config = resolve_config(settings);
  const RunResult result = run(config);
  EXPECT_TRUE(result.failures.empty());
  const fs::path folder = source / "tests/golden/minidoc-qwen3" / golden.name;
  expect_pooled_figures(result, config, folder);
  EXPECT_EQ(parse_csv(table_text(TableId::metrics, result.results, config)).columns,
            read_csv(folder / "head_metrics.csv").columns);
}

const GoldenCase cases[]{
    {"full", {{"method", "full", "test"}}},
    {"local", {{"sampler", "local", "test"}}},
    {"full-local", {{"method", "full", "test"}, {"sampler", "local", "test"}, {"weighting", "pairs", "test"}}},
    {"subsampled", {{"max_tokens_per_head", "300", "test"}, {"seed", "11", "test"}}},
    {"python-compat", {{"compat", "python", "test"}}},
};

INSTANTIATE_TEST_SUITE_P(Runs, Golden, testing::ValuesIn(cases), [](const auto& test) {
  std::string name = test.param.name;
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace attention_plasticity

// Whole runs on the embedded dumps against the figures of tests/golden, which come from an independent implementation
// in NumPy and SciPy, and for `python-compat` from the Python toolkit itself.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <stop_token>

#include "attention_plasticity/run/analysis_run.h"
#include "attention_plasticity/run/csv.h"
#include "csv_table.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;
const fs::path source = AP_SOURCE_DIR;

struct GoldenCase {
  const char* name;  // of the folder below tests/golden
  const char* dump;
  std::vector<Setting> settings;
};

void PrintTo(const GoldenCase& golden, std::ostream* out) { *out << golden.name; }

RunResult run(const RunConfig& config) {
  const RunObserver silent{[](const HeadEvent&) {}, [](const std::string&) {}};
  return run_analysis(make_plan(config), config, 2, silent, std::stop_token());
}

class Golden : public testing::TestWithParam<GoldenCase> {};

// Position-exact plasticity has figures of its own below, and takes most of the time.
const Setting pooled_only{"num_triples", "0", "test"};

TEST_P(Golden, FiguresHold) {
  const GoldenCase& golden = GetParam();
  std::vector<Setting> settings = golden.settings;
  settings.push_back(pooled_only);
  settings.push_back({"dataset_local_root", (source / "examples" / golden.dump).string(), "test"});
  const RunConfig config = resolve_config(settings);
  const RunResult result = run(config);
  EXPECT_TRUE(result.failures.empty());
  const fs::path folder = source / "tests/golden" / golden.name;
  expect_same_figures(parse_csv(head_metrics_csv(result.results, config)), read_csv(folder / "head_metrics.csv"),
                      "head_metrics.csv");
  expect_same_figures(parse_csv(bucket_csv(result.results, config)), read_csv(folder / "head_bucket_plasticity.csv"),
                      "head_bucket_plasticity.csv");
  expect_same_figures(parse_csv(component_csv(result.results, config)), read_csv(folder / "head_component_weights.csv"),
                      "head_component_weights.csv");
}

const GoldenCase cases[]{
    {"minidoc-qwen3/positional", "minidoc-qwen3", {}},
    {"minidoc-qwen3/full", "minidoc-qwen3", {{"method", "full", "test"}}},
    {"minidoc-qwen3/local", "minidoc-qwen3", {{"sampler", "local", "test"}}},
    {"minidoc-qwen3/full-local",
     "minidoc-qwen3",
     {{"method", "full", "test"}, {"sampler", "local", "test"}, {"weighting", "pairs", "test"}}},
    {"minidoc-qwen3/subsampled", "minidoc-qwen3", {{"max_tokens_per_head", "300", "test"}, {"seed", "11", "test"}}},
    {"minidoc-qwen3/python-compat", "minidoc-qwen3", {{"compat", "python", "test"}}},
    {"smollm2-135m/positional", "smollm2-135m", {}},
};

INSTANTIATE_TEST_SUITE_P(Runs, Golden, testing::ValuesIn(cases), [](const auto& test) {
  std::string name = test.param.name;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

// The columns that `other` has.
CsvTable columns_of(const CsvTable& table, const CsvTable& other) {
  CsvTable part{other.columns, std::vector<std::vector<std::string>>(table.rows.size())};
  for (const std::string& column : other.columns) {
    const auto at = static_cast<std::size_t>(std::ranges::find(table.columns, column) - table.columns.begin());
    for (std::size_t row = 0; row < table.rows.size(); ++row) part.rows[row].push_back(table.rows[row].at(at));
  }
  return part;
}

class GoldenExact : public testing::TestWithParam<const char*> {};

TEST_P(GoldenExact, FiguresHold) {
  const fs::path dump = source / "examples" / GetParam();
  const RunConfig config = resolve_config(std::vector<Setting>{{"dataset_local_root", dump.string(), "test"}});
  const RunResult result = run(config);
  EXPECT_TRUE(result.failures.empty());
  const fs::path folder = source / "tests/golden" / GetParam() / "exact";
  const CsvTable golden = read_csv(folder / "head_exact.csv");
  expect_same_figures(columns_of(parse_csv(head_metrics_csv(result.results, config)), golden), golden,
                      "head_metrics.csv");
  expect_same_figures(parse_csv(distance_csv(result.results)), read_csv(folder / "head_distance_plasticity.csv"),
                      "head_distance_plasticity.csv");
}

INSTANTIATE_TEST_SUITE_P(Runs, GoldenExact, testing::Values("minidoc-qwen3", "smollm2-135m"), [](const auto& test) {
  return std::string(test.param, std::string_view(test.param).find('-'));
});

// results/ holds what `make sample-results` wrote; a change of the figures must come with new sample results.
TEST(SampleResults, AreWhatTheProgramWrites) {
  const fs::path folder = source / "results/smollm2-135m";
  const RunConfig config =
      resolve_config(std::vector<Setting>{{"dataset_local_root", (source / "examples/smollm2-135m").string(), "test"}});
  const RunResult result = run(config);
  const auto same = [&](const std::string& text, const char* file) {
    expect_same_figures(parse_csv(text), read_csv(folder / file), file);
  };
  same(head_metrics_csv(result.results, config), "head_metrics.csv");
  same(bucket_csv(result.results, config), "head_bucket_plasticity.csv");
  same(component_csv(result.results, config), "head_component_weights.csv");
  same(time_csv(result.results), "head_time_plasticity.csv");
  same(distance_csv(result.results), "head_distance_plasticity.csv");
}

}  // namespace
}  // namespace attention_plasticity

// Position-exact plasticity of the embedded models is the same for vectors captured before and after RoPE, and ranks
// heads that retrieve above heads that look at the previous token.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <stop_token>

#include "attention_plasticity/base/temporary_folder_testing.h"
#include "attention_plasticity/dump/head_file.h"
#include "attention_plasticity/dump/head_file_writer.h"
#include "attention_plasticity/evaluation/validation.h"
#include "attention_plasticity/run/analysis_run.h"
#include "attention_plasticity/run/results.h"
#include "places.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;
const fs::path examples = source_folder() / "examples";

RunResult run(const RunConfig& config) {
  const RunObserver silent{[](const HeadEvent&) {}, [](const std::string&) {}};
  PreparedRun prepared = prepare_run(config);
  return run_analysis(prepared, config, {.workers = 2}, silent);
}

// Leaves out standard errors and the model-free check, which take most of the time.
RunConfig config_of(const fs::path& dump, std::vector<Setting> settings = {}) {
  settings.push_back({"standard_errors", "false", "test"});
  settings.push_back({"empirical_queries", "0", "test"});
  settings.push_back({"dataset_local_root", dump.string(), "test"});
  return resolve_config(settings);
}

// Writes the dump as it would have been captured before RoPE: un-rotates all vectors.
void write_unrotated(const fs::path& from, const fs::path& to) {
  const PreparedRun plan = prepare_run(config_of(from));
  fs::copy_file(from / "config.json", to / "config.json");
  const auto unrotate = [&](Side side, const HeadNumber& head) {
    HeadRows rows = read_head_file(plan.layout.file(side, head), side).rows;
    const Rotation rotation = plan.rotation.value().layer(head.layer, rows.width).rotation;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rotation.rotate(std::span(rows.vectors).subspan(i * rows.width, rows.width), -rows.position[i]);
    }
    const fs::path file = to / head_folder_name(side, head) / "data.parquet";
    fs::create_directories(file.parent_path());
    write_head_file(file, rows);
  };
  for (const HeadNumber& head : plan.layout.queries) unrotate(Side::query, head);
  for (const HeadNumber& head : plan.layout.keys) unrotate(Side::key, head);
}

TEST(PositionExact, IsTheSameForVectorsCapturedBeforeTheRotation) {
  const TemporaryFolder folder;
  const fs::path dump = examples / "smollm2-135m";
  write_unrotated(dump, folder.path());
  const RunResult post = run(config_of(dump));
  const RunResult pre = run(config_of(folder.path(), {{"vectors", "pre", "test"}}));
  ASSERT_EQ(pre.results.size(), 40U);
  ASSERT_EQ(post.results.size(), 40U);
  for (std::size_t i = 0; i < pre.results.size(); ++i) {
    EXPECT_EQ(pre.results[i].head, post.results[i].head);
    EXPECT_NEAR(pre.results[i].exact->overall, post.results[i].exact->overall, 1e-5);
    EXPECT_NEAR(pre.results[i].exact->logit_fixed, post.results[i].exact->logit_fixed, 1e-5);
  }
}

TEST(PositionExact, RanksInductionHeadsAbovePreviousTokenHeadsWherePoolingDoesTheReverse) {
  const fs::path dump = examples / "smollm2-135m";
  const RunConfig config = config_of(dump);
  const HeadMetrics metrics(parse_csv(table_text(TableId::metrics, run(config).results, config)));
  ValidationOptions options;
  options.positive = "induction>0.1";
  options.negative = "previous_token>0.25";
  const Validation validation = validate(metrics, read_head_labels(dump / "head_labels.csv"), options);
  const auto area = [&](const std::string& measure) {
    for (const Agreement& agreement : validation.contrast.value().areas) {
      if (agreement.measure == measure) return agreement.value;
    }
    return std::nan("");
  };
  EXPECT_GE(area("ap_exact"), 0.99);
  EXPECT_LT(area("ap_overall"), 0.1);
}

}  // namespace
}  // namespace attention_plasticity

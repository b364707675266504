#include "attention_plasticity/run/result_tables.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "attention_plasticity/run/small_dump_testing.h"
#include "places.h"

namespace attention_plasticity {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// The columns of the toolkit, and what follows them.
std::string metrics_text(const std::string& rest) {
  return "layer,q_head,k_head,n_q_tokens,n_k_tokens,d_model,q_R2_pos,q_beta_norm,q_R2_scalar,q_mae_baseline,q_mae_proj,"
         "q_mae_ratio,q_resid0_skew,q_resid0_kurt,q_resid0_ks_p,q_noise_med_abs_skew,q_noise_med_abs_kurt,q_noise_med_"
         "ks_p,"
         "q_noise_frac_ks_p_lt_alpha,ap_overall" +
         rest;
}

RunConfig with(const std::string& flag, const std::string& value) {
  return resolve_config(std::vector{flag_setting(flag, value)});
}

// Every figure differs from the others, so that two columns cannot change places unseen.
HeadResult some_result() {
  HeadResult result;
  result.head = {3, 5, 1};
  result.n_q_tokens = 50000;
  result.n_k_tokens = 1000000;
  result.width = 2;
  result.position_r_squared = 0.5;
  result.slope_norm = 0.25;
  result.scalar = {0.75, 1.5, 1.25, 0.875};
  result.residual = {-0.125, 2.5, 0.0625};
  result.noise = {0.1, 0.2, 0.3, 0.4};
  result.component_r_squared = {0.9, 1e-20};
  result.component_weight = {1, 0};
  result.plasticity.overall = 0.625;
  result.plasticity.cells = {{1, 0, 0.7, 256}, {2, 0, nan, 0}, {2, 1, 1e-300, 3}};
  result.times = {{1, 191.5, 0.7, 256, 40}, {2, 320, nan, 0, 41}};
  result.plasticity_error = 0.0078125;
  return result;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string csv(TableId table, std::span<const HeadResult> results, const RunConfig& config = {}) {
  return table_text(table, results, config);
}

TEST(HeadMetricsCsv, HasTheColumnsOfTheToolkitAndThenTheStandardError) {
  EXPECT_EQ(csv(TableId::metrics, {}, {}), metrics_text(",ap_overall_se\n"));
}

TEST(HeadMetricsCsv, HasNoStandardErrorWhenNoneIsComputed) {
  const RunConfig config = with("--standard_errors", "false");
  EXPECT_EQ(csv(TableId::metrics, {}, config), metrics_text("\n"));
  const HeadResult result = some_result();
  EXPECT_EQ(
      csv(TableId::metrics, {&result, 1}, config),
      metrics_text("\n3,5,1,50000,1000000,2,0.5,0.25,0.75,1.5,1.25,0.875,-0.125,2.5,0.0625,0.1,0.2,0.3,0.4,0.625\n"));
}

TEST(HeadMetricsCsv, HoldsOneRowForEachHead) {
  const std::vector<HeadResult> results{some_result(), some_result()};
  const std::string row =
      "3,5,1,50000,1000000,2,0.5,0.25,0.75,1.5,1.25,0.875,-0.125,2.5,0.0625,0.1,0.2,0.3,0.4,0.625,0.0078125\n";
  EXPECT_EQ(csv(TableId::metrics, results, {}), metrics_text(",ap_overall_se\n" + row + row));
}

TEST(HeadMetricsCsv, LeavesAMissingFigureEmpty) {
  HeadResult result = some_result();
  result.plasticity.overall = nan;
  result.plasticity_error = nan;
  result.noise.median_ks_p = -nan;
  const std::string text = csv(TableId::metrics, {&result, 1}, {});
  EXPECT_TRUE(text.ends_with("\n3,5,1,50000,1000000,2,0.5,0.25,0.75,1.5,1.25,0.875,-0.125,2.5,0.0625,0.1,0.2,,0.4,,\n"))
      << text;
}

HeadResult exact_result() {
  HeadResult result = some_result();
  result.exact.emplace();
  result.exact->overall = 0.375;
  result.exact->empirical = 0.5;
  result.exact->logit_fixed = 4.5;
  result.exact->logit_spread = 2.25;
  result.exact->n_triples = 4096;
  result.exact->distances = {{0, 1, 0.25, 1.5, 2.5, 12}, {3, 10, nan, 0.5, 0.75, 1}};
  result.exact_error = 0.03125;
  return result;
}

TEST(ResultTables, EveryColumnOfTheSchemaHasAValue) {
  const HeadResult result = exact_result();
  for (const ResultTable& table : result_tables()) {
    std::string header;
    for (const ResultColumn& column : table.columns) header.append(header.empty() ? "" : ",").append(column.name);
    EXPECT_EQ(first_line(table_text(table.id, {&result, 1}, {.errors = true, .exact = true})), header);
  }
}

TEST(ResultTables, AMetricIsFoundByTheNameOfItsColumn) {
  const HeadResult result = exact_result();
  EXPECT_EQ(metric_value(result, "q_resid0_kurt"), 2.5);
  EXPECT_EQ(metric_value(result, "ap_exact_se"), 0.03125);
  EXPECT_EQ(metric_value(result, "n_triples"), 4096);
  EXPECT_TRUE(std::isnan(metric_value(some_result(), "ap_exact")));
}

TEST(HeadMetricsCsv, AddsPositionExactPlasticityWhereItWasMeasured) {
  const HeadResult result = exact_result();
  const std::string row = csv(TableId::metrics, {&result, 1}, {});
  EXPECT_EQ(first_line(row), metrics_text(",ap_overall_se,ap_exact,ap_exact_se,ap_exact_empirical,logit_fixed,"
                                          "logit_spread,n_triples"));
  EXPECT_TRUE(row.ends_with(",0.625,0.0078125,0.375,0.03125,0.5,4.5,2.25,4096\n")) << row;
  const std::string without_errors = csv(TableId::metrics, {&result, 1}, with("--standard_errors", "false"));
  EXPECT_EQ(first_line(without_errors),
            metrics_text(",ap_exact,ap_exact_empirical,logit_fixed,logit_spread,n_triples"));
  EXPECT_TRUE(without_errors.ends_with(",0.625,0.375,0.5,4.5,2.25,4096\n")) << without_errors;
}

TEST(HeadMetricsCsv, LeavesFiguresOfNoTriplesEmpty) {
  HeadResult result = exact_result();
  result.exact = ExactPlasticity{};
  result.exact_error = nan;
  EXPECT_TRUE(csv(TableId::metrics, {&result, 1}, {}).ends_with(",0.625,0.0078125,,,,,,0\n"));
}

TEST(DistanceCsv, HoldsTheCellsInTheirOrder) {
  const HeadResult result = exact_result();
  EXPECT_EQ(csv(TableId::distance, {&result, 1}),
            "layer,q_head,k_head,near_bin,far_bin,plasticity,logit_fixed,logit_spread,n_triples\n"
            "3,5,1,0,1,0.25,1.5,2.5,12\n3,5,1,3,10,,0.5,0.75,1\n");
}

TEST(BucketCsv, HoldsTheCellsInTheirOrderAndAnEmptyFieldForAnEmptyCell) {
  const HeadResult result = some_result();
  EXPECT_EQ(csv(TableId::buckets, {&result, 1}, {}),
            "layer,q_head,k_head,q_bucket,k_bucket,plasticity,n_pairs\n"
            "3,5,1,1,0,0.7,256\n3,5,1,2,0,,0\n3,5,1,2,1,1e-300,3\n");
}

TEST(ComponentCsv, HoldsTheComponentsInTheirOrder) {
  const HeadResult result = some_result();
  EXPECT_EQ(csv(TableId::components, {&result, 1}, {}),
            "layer,q_head,k_head,component,r2,weight\n3,5,1,0,0.9,1\n3,5,1,1,1e-20,0\n");
}

TEST(TimeCsv, HoldsTheTimesInTheirOrder) {
  const HeadResult result = some_result();
  EXPECT_EQ(csv(TableId::time, {&result, 1}),
            "layer,q_head,k_head,q_bucket,position,plasticity,n_pairs,n_queries\n"
            "3,5,1,1,191.5,0.7,256,40\n3,5,1,2,320,,0,41\n");
}

TEST(TimeCsv, AddsPositionExactPlasticityWhereItWasMeasured) {
  HeadResult result = exact_result();
  result.times = {{0, 12.5, nan, 0, 39, 0.5, 0.0625, 100}, {1, 191.5, 0.7, 256, 40, 0.25, nan, 7}};
  EXPECT_EQ(csv(TableId::time, {&result, 1}),
            "layer,q_head,k_head,q_bucket,position,plasticity,n_pairs,n_queries,ap_exact,ap_exact_se,n_triples\n"
            "3,5,1,0,12.5,,0,39,0.5,0.0625,100\n3,5,1,1,191.5,0.7,256,40,0.25,,7\n");
  EXPECT_EQ(csv(TableId::time, {&result, 1}, with("--standard_errors", "false")),
            "layer,q_head,k_head,q_bucket,position,plasticity,n_pairs,n_queries,ap_exact,n_triples\n"
            "3,5,1,0,12.5,,0,39,0.5,100\n3,5,1,1,191.5,0.7,256,40,0.25,7\n");
}

TEST(GroupsCsv, HoldsTheValuesWithoutEachGroup) {
  HeadResult result = exact_result();
  const WithoutGroup without{{0, 2}, {0.5, nan}, {0.25, 0.125}};
  const auto groups = [&] { return table_text(TableId::groups, {&result, 1}, RunConfig(), {&without, 1}); };
  EXPECT_EQ(groups(), "layer,q_head,k_head,group,ap_overall,ap_exact\n3,5,1,0,0.5,0.25\n3,5,1,2,,0.125\n");
  result.exact.reset();
  EXPECT_EQ(groups(), "layer,q_head,k_head,group,ap_overall\n3,5,1,0,0.5\n3,5,1,2,\n");
}

TEST(PythonCompatCsv, HasExactlyTheColumnsOfTheToolkit) {
  const RunConfig config = with("--compat", "python");
  const auto golden_header = [](const char* file) {
    return first_line(read_text(source_folder() / "tests/golden/minidoc-qwen3/python-compat" / file));
  };
  EXPECT_EQ(first_line(csv(TableId::metrics, {}, config)), golden_header("head_metrics.csv"));
  EXPECT_EQ(first_line(csv(TableId::buckets, {}, config)), golden_header("head_bucket_plasticity.csv"));
  EXPECT_EQ(first_line(csv(TableId::components, {}, config)), golden_header("head_component_weights.csv"));
}

TEST(PythonCompatCsv, HasNoNumberOfPairsInItsRows) {
  const HeadResult result = some_result();
  EXPECT_EQ(csv(TableId::buckets, {&result, 1}, with("--compat", "python")),
            "layer,q_head,k_head,q_bucket,k_bucket,ap_bucket\n3,5,1,1,0,0.7\n3,5,1,2,0,\n3,5,1,2,1,1e-300\n");
}

TEST(CsvNumber, KeepsAllDigitsOfIntegers) {
  HeadResult result;
  constexpr auto bucket = std::numeric_limits<std::int64_t>::max();
  result.plasticity.cells = {{bucket, bucket - 1, 1, std::numeric_limits<std::size_t>::max()}};
  EXPECT_TRUE(csv(TableId::buckets, {&result, 1}, {})
                  .ends_with("\n0,0,0,9223372036854775807,9223372036854775806,1,18446744073709551615\n"));
}

}  // namespace
}  // namespace attention_plasticity

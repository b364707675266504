#include "attention_plasticity/results/head_tables.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "attention_plasticity/base/refusal_testing.h"
#include "attention_plasticity/base/temporary_folder_testing.h"
#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/results/result_files.h"
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

// Columns of a run with standard errors, and without.
constexpr WrittenColumns usual{.errors = true};
constexpr WrittenColumns no_errors{};
constexpr WrittenColumns of_toolkit{.errors = true, .python_compat = true};

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

std::string csv(TableId table, std::span<const HeadResult> results, WrittenColumns run = usual) {
  run.exact = !results.empty() && results.front().exact;
  return table_text(table, results, run);
}

TEST(HeadMetricsCsv, HasTheColumnsOfTheToolkitAndThenTheStandardError) {
  EXPECT_EQ(csv(TableId::metrics, {}), metrics_text(",ap_overall_se\n"));
}

TEST(HeadMetricsCsv, HasNoStandardErrorWhenNoneIsComputed) {
  EXPECT_EQ(csv(TableId::metrics, {}, no_errors), metrics_text("\n"));
  const HeadResult result = some_result();
  EXPECT_EQ(
      csv(TableId::metrics, {&result, 1}, no_errors),
      metrics_text("\n3,5,1,50000,1000000,2,0.5,0.25,0.75,1.5,1.25,0.875,-0.125,2.5,0.0625,0.1,0.2,0.3,0.4,0.625\n"));
}

TEST(HeadMetricsCsv, HoldsOneRowForEachHead) {
  const std::vector<HeadResult> results{some_result(), some_result()};
  const std::string row =
      "3,5,1,50000,1000000,2,0.5,0.25,0.75,1.5,1.25,0.875,-0.125,2.5,0.0625,0.1,0.2,0.3,0.4,0.625,0.0078125\n";
  EXPECT_EQ(csv(TableId::metrics, results), metrics_text(",ap_overall_se\n" + row + row));
}

TEST(HeadMetricsCsv, LeavesAMissingFigureEmpty) {
  HeadResult result = some_result();
  result.plasticity.overall = nan;
  result.plasticity_error = nan;
  result.noise.median_ks_p = -nan;
  const std::string text = csv(TableId::metrics, {&result, 1});
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
  EXPECT_EQ(metric_value(result, metrics_column("q_resid0_kurt")), 2.5);
  EXPECT_EQ(metric_value(result, metrics_column("ap_exact_se")), 0.03125);
  EXPECT_EQ(metric_value(result, metrics_column("n_triples")), 4096);
  EXPECT_TRUE(std::isnan(metric_value(some_result(), metrics_column("ap_exact"))));
}

TEST(HeadMetricsCsv, AddsPositionExactPlasticityWhereItWasMeasured) {
  const HeadResult result = exact_result();
  const std::string row = csv(TableId::metrics, {&result, 1});
  EXPECT_EQ(first_line(row), metrics_text(",ap_overall_se,ap_exact,ap_exact_se,ap_exact_empirical,logit_fixed,"
                                          "logit_spread,n_triples"));
  EXPECT_TRUE(row.ends_with(",0.625,0.0078125,0.375,0.03125,0.5,4.5,2.25,4096\n")) << row;
  const std::string without_errors = csv(TableId::metrics, {&result, 1}, no_errors);
  EXPECT_EQ(first_line(without_errors),
            metrics_text(",ap_exact,ap_exact_empirical,logit_fixed,logit_spread,n_triples"));
  EXPECT_TRUE(without_errors.ends_with(",0.625,0.375,0.5,4.5,2.25,4096\n")) << without_errors;
}

TEST(HeadMetricsCsv, LeavesFiguresOfNoTriplesEmpty) {
  HeadResult result = exact_result();
  result.exact = ExactPlasticity{};
  result.exact_error = nan;
  EXPECT_TRUE(csv(TableId::metrics, {&result, 1}).ends_with(",0.625,0.0078125,,,,,,0\n"));
}

TEST(DistanceCsv, HoldsTheCellsInTheirOrder) {
  const HeadResult result = exact_result();
  EXPECT_EQ(csv(TableId::distance, {&result, 1}),
            "layer,q_head,k_head,near_bin,far_bin,plasticity,logit_fixed,logit_spread,n_triples\n"
            "3,5,1,0,1,0.25,1.5,2.5,12\n3,5,1,3,10,,0.5,0.75,1\n");
}

TEST(BucketCsv, HoldsTheCellsInTheirOrderAndAnEmptyFieldForAnEmptyCell) {
  const HeadResult result = some_result();
  EXPECT_EQ(csv(TableId::buckets, {&result, 1}),
            "layer,q_head,k_head,q_bucket,k_bucket,plasticity,n_pairs\n"
            "3,5,1,1,0,0.7,256\n3,5,1,2,0,,0\n3,5,1,2,1,1e-300,3\n");
}

TEST(ComponentCsv, HoldsTheComponentsInTheirOrder) {
  const HeadResult result = some_result();
  EXPECT_EQ(csv(TableId::components, {&result, 1}),
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
  EXPECT_EQ(csv(TableId::time, {&result, 1}, no_errors),
            "layer,q_head,k_head,q_bucket,position,plasticity,n_pairs,n_queries,ap_exact,n_triples\n"
            "3,5,1,0,12.5,,0,39,0.5,100\n3,5,1,1,191.5,0.7,256,40,0.25,7\n");
}

TEST(GroupsCsv, HoldsTheValuesWithoutEachGroup) {
  HeadResult result = exact_result();
  const WithoutGroup without{{0, 2}, {0.5, nan}, {0.25, 0.125}};
  const auto groups = [&] {
    return table_text(TableId::groups, {&result, 1}, {.errors = true, .exact = result.exact.has_value()},
                      {&without, 1});
  };
  EXPECT_EQ(groups(), "layer,q_head,k_head,group,ap_overall,ap_exact\n3,5,1,0,0.5,0.25\n3,5,1,2,,0.125\n");
  result.exact.reset();
  EXPECT_EQ(groups(), "layer,q_head,k_head,group,ap_overall\n3,5,1,0,0.5\n3,5,1,2,\n");
}

TEST(PythonCompatCsv, HasExactlyTheColumnsOfTheToolkit) {
  const auto golden_header = [](const char* file) {
    return first_line(read_text_file(source_folder() / "tests/golden/minidoc-qwen3/python-compat" / file));
  };
  EXPECT_EQ(first_line(csv(TableId::metrics, {}, of_toolkit)), golden_header("head_metrics.csv"));
  EXPECT_EQ(first_line(csv(TableId::buckets, {}, of_toolkit)), golden_header("head_bucket_plasticity.csv"));
  EXPECT_EQ(first_line(csv(TableId::components, {}, of_toolkit)), golden_header("head_component_weights.csv"));
}

TEST(PythonCompatCsv, HasNoNumberOfPairsInItsRows) {
  const HeadResult result = some_result();
  EXPECT_EQ(csv(TableId::buckets, {&result, 1}, of_toolkit),
            "layer,q_head,k_head,q_bucket,k_bucket,ap_bucket\n3,5,1,1,0,0.7\n3,5,1,2,0,\n3,5,1,2,1,1e-300\n");
}

TEST(BucketsCsv, KeepsAllDigitsOfIntegers) {
  HeadResult result;
  constexpr auto bucket = std::numeric_limits<std::int64_t>::max();
  result.plasticity.cells = {{bucket, bucket - 1, 1, std::numeric_limits<std::size_t>::max()}};
  EXPECT_TRUE(csv(TableId::buckets, {&result, 1})
                  .ends_with("\n0,0,0,9223372036854775807,9223372036854775806,1,18446744073709551615\n"));
}

HeadMetrics metrics(const std::string& text) { return HeadMetrics(parse_csv(text, "m.csv")); }

TEST(HeadMetrics, AreSortedByHead) {
  const HeadMetrics heads = metrics("layer,q_head,k_head,ap_exact\n1,0,0,0.3\n0,3,1,0.2\n0,2,1,\n");
  EXPECT_EQ(heads.heads(), (std::vector<HeadId>{{0, 2, 1}, {0, 3, 1}, {1, 0, 0}}));
  const std::vector<double> values = heads.values("ap_exact");
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_EQ(values[1], 0.2);
  EXPECT_EQ(values[2], 0.3);
}

TEST(HeadMetrics, KnowTheirMeasures) {
  const HeadMetrics heads = metrics(",k_head,a,layer,b,q_head\n0,0,1,0,2,0\n");
  EXPECT_EQ(heads.measures(), (std::vector<std::string_view>{"a", "b"}));
  EXPECT_TRUE(heads.has("a"));
  EXPECT_FALSE(heads.has("layer"));
}

TEST(HeadMetrics, RefuseTablesThatDoNotListHeads) {
  const auto refused = [](const std::string& text) { return refusal([&] { metrics(text); }); };
  EXPECT_EQ(refused("layer,q_head,x\n0,0,1\n"),
            "input: m.csv: has no column k_head; metrics are what `attention-plasticity analyze` writes to "
            "head_metrics.csv");
  EXPECT_EQ(refused("layer,q_head,k_head\n"), "input: m.csv: has a header and no heads");
  EXPECT_EQ(refused("layer,q_head,k_head\n0,1,0\n0,0,0\n0,1,0\n"),
            "input: m.csv: lines 2 and 4: layer 0, q_head 1 has two rows");
  EXPECT_EQ(refused("layer,q_head,k_head\n0,one,0\n"),
            "input: m.csv: line 2, column 'q_head': 'one' is not a whole number from 0 to 9999");
}

TEST(HeadMetrics, NameTheNearestColumn) {
  const HeadMetrics heads = metrics("layer,q_head,k_head,ap_exact,word\n0,0,0,1,x\n");
  EXPECT_EQ(refusal([&] { heads.values("ap_exakt"); }),
            "usage: m.csv has no column 'ap_exakt'; did you mean ap_exact?");
  EXPECT_EQ(refusal([&] { heads.values("something"); }), "usage: m.csv has no column 'something'");
  EXPECT_EQ(refusal([&] { heads.values("word"); }), "input: m.csv: line 2, column 'word': 'x' is not a finite number");
}

TEST(HeadMetrics, AreFoundInTheFolderOfARun) {
  const TemporaryFolder folder;
  std::ofstream(folder / "head_metrics.csv") << "layer,q_head,k_head\n0,0,0\n";
  EXPECT_EQ(read_head_metrics(ResultFiles(folder.path())).heads().size(), 1U);
  EXPECT_EQ(read_head_metrics(ResultFiles(folder / "head_metrics.csv")).file(), (folder / "head_metrics.csv").string());
}

TEST(ColumnPlace, TakesTheProjectsNameFirstThenThoseOfOthers) {
  EXPECT_EQ(column_place(parse_csv("ap_bucket,plasticity\n1,2\n"), TableId::buckets, "plasticity"), 1U);
  EXPECT_EQ(column_place(parse_csv("layer,ap_bucket\n1,2\n"), TableId::buckets, "plasticity"), 1U);
  EXPECT_EQ(column_place(parse_csv("layer,bucket\n1,2\n"), TableId::buckets, "q_bucket"), 1U);
}

TEST(ColumnPlace, SaysWhichNamesItLookedForAndWhichTableItNeeds) {
  const CsvTable table = parse_csv("layer,x\n1,2\n", "b.csv");
  EXPECT_EQ(find_column(table, *result_table(TableId::buckets).find("n_pairs")), std::nullopt);
  EXPECT_EQ(
      refusal([&] { column_place(table, TableId::buckets, "plasticity"); }),
      "input: b.csv: has no column plasticity or ap_bucket; it should be the head_bucket_plasticity.csv of a run");
  EXPECT_EQ(refusal([&] { column_place(table, TableId::distance, "far_bin"); }),
            "input: b.csv: has no column far_bin; it should be the head_distance_plasticity.csv of a run");
}

TEST(CountPlace, IsThatOfTheColumnThatCountsTheSamples) {
  const CsvTable times = parse_csv("layer,plasticity,n_pairs,ap_exact,n_triples\n0,1,2,3,4\n");
  EXPECT_EQ(count_place(times, TableId::time, "plasticity"), 2U);
  EXPECT_EQ(count_place(times, TableId::time, "ap_exact"), 4U);
  EXPECT_EQ(count_place(times, TableId::time, "n_pairs"), std::nullopt);
  EXPECT_EQ(count_place(parse_csv("ap_bucket\n0\n"), TableId::buckets, "plasticity"), std::nullopt);
}

}  // namespace
}  // namespace attention_plasticity

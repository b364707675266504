#include "attention_plasticity/run/csv.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "attention_plasticity/run/small_dump_testing.h"

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

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields{""};
  for (const char c : line) {
    if (c == ',') {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

// The text of one number, as it stands in a table.
std::string written(double value) {
  HeadResult result;
  result.plasticity.cells = {{1, 0, value, 1}};
  const std::string text = bucket_csv({&result, 1}, {});
  const std::size_t row = text.find('\n') + 1;
  return fields_of(text.substr(row, text.size() - 1 - row)).at(5);
}

TEST(HeadMetricsCsv, HasTheColumnsOfTheToolkitAndThenTheStandardError) {
  EXPECT_EQ(head_metrics_csv({}, {}), metrics_text(",ap_overall_se\n"));
}

TEST(HeadMetricsCsv, HasNoStandardErrorWhenNoneIsComputed) {
  const RunConfig config = with("--standard_errors", "false");
  EXPECT_EQ(head_metrics_csv({}, config), metrics_text("\n"));
  const HeadResult result = some_result();
  EXPECT_EQ(
      head_metrics_csv({&result, 1}, config),
      metrics_text("\n3,5,1,50000,1000000,2,0.5,0.25,0.75,1.5,1.25,0.875,-0.125,2.5,0.0625,0.1,0.2,0.3,0.4,0.625\n"));
}

TEST(HeadMetricsCsv, HoldsOneRowForEachHead) {
  const std::vector<HeadResult> results{some_result(), some_result()};
  const std::string row =
      "3,5,1,50000,1000000,2,0.5,0.25,0.75,1.5,1.25,0.875,-0.125,2.5,0.0625,0.1,0.2,0.3,0.4,0.625,0.0078125\n";
  EXPECT_EQ(head_metrics_csv(results, {}), metrics_text(",ap_overall_se\n" + row + row));
}

TEST(HeadMetricsCsv, LeavesAMissingFigureEmpty) {
  HeadResult result = some_result();
  result.plasticity.overall = nan;
  result.plasticity_error = nan;
  result.noise.median_ks_p = -nan;
  const std::string text = head_metrics_csv({&result, 1}, {});
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

TEST(HeadMetricsCsv, NamesItsRealColumnsInOrder) {
  std::string header = "layer,q_head,k_head,n_q_tokens,n_k_tokens,d_model";
  for (const MetricColumn& column : metric_columns()) header.append(",").append(column.name);
  const HeadResult result = exact_result();
  EXPECT_EQ(first_line(head_metrics_csv({&result, 1}, {})), header + ",n_triples");
}

TEST(HeadMetricsCsv, AddsPositionExactPlasticityWhereItWasMeasured) {
  const HeadResult result = exact_result();
  const std::string row = head_metrics_csv({&result, 1}, {});
  EXPECT_EQ(first_line(row), metrics_text(",ap_overall_se,ap_exact,ap_exact_se,ap_exact_empirical,logit_fixed,"
                                          "logit_spread,n_triples"));
  EXPECT_TRUE(row.ends_with(",0.625,0.0078125,0.375,0.03125,0.5,4.5,2.25,4096\n")) << row;
  const std::string without_errors = head_metrics_csv({&result, 1}, with("--standard_errors", "false"));
  EXPECT_EQ(first_line(without_errors),
            metrics_text(",ap_exact,ap_exact_empirical,logit_fixed,logit_spread,n_triples"));
  EXPECT_TRUE(without_errors.ends_with(",0.625,0.375,0.5,4.5,2.25,4096\n")) << without_errors;
}

TEST(HeadMetricsCsv, LeavesFiguresOfNoTriplesEmpty) {
  HeadResult result = exact_result();
  result.exact = ExactPlasticity{};
  result.exact_error = nan;
  EXPECT_TRUE(head_metrics_csv({&result, 1}, {}).ends_with(",0.625,0.0078125,,,,,,0\n"));
}

TEST(DistanceCsv, HoldsTheCellsInTheirOrder) {
  const HeadResult result = exact_result();
  EXPECT_EQ(distance_csv({&result, 1}),
            "layer,q_head,k_head,near_bin,far_bin,plasticity,logit_fixed,logit_spread,n_triples\n"
            "3,5,1,0,1,0.25,1.5,2.5,12\n3,5,1,3,10,,0.5,0.75,1\n");
}

TEST(BucketCsv, HoldsTheCellsInTheirOrderAndAnEmptyFieldForAnEmptyCell) {
  const HeadResult result = some_result();
  EXPECT_EQ(bucket_csv({&result, 1}, {}),
            "layer,q_head,k_head,q_bucket,k_bucket,plasticity,n_pairs\n"
            "3,5,1,1,0,0.7,256\n3,5,1,2,0,,0\n3,5,1,2,1,1e-300,3\n");
}

TEST(ComponentCsv, HoldsTheComponentsInTheirOrder) {
  const HeadResult result = some_result();
  EXPECT_EQ(component_csv({&result, 1}, {}),
            "layer,q_head,k_head,component,r2,weight\n3,5,1,0,0.9,1\n3,5,1,1,1e-20,0\n");
}

TEST(TimeCsv, HoldsTheTimesInTheirOrder) {
  const HeadResult result = some_result();
  EXPECT_EQ(time_csv({&result, 1}),
            "layer,q_head,k_head,q_bucket,position,plasticity,n_pairs,n_queries\n"
            "3,5,1,1,191.5,0.7,256,40\n3,5,1,2,320,,0,41\n");
}

TEST(PythonCompatCsv, HasExactlyTheColumnsOfTheToolkit) {
  const RunConfig config = with("--compat", "python");
  const auto golden_header = [](const char* file) {
    return first_line(
        read_text(std::filesystem::path(AP_SOURCE_DIR) / "tests/golden/minidoc-qwen3/python-compat" / file));
  };
  EXPECT_EQ(first_line(head_metrics_csv({}, config)), golden_header("head_metrics.csv"));
  EXPECT_EQ(first_line(bucket_csv({}, config)), golden_header("head_bucket_plasticity.csv"));
  EXPECT_EQ(first_line(component_csv({}, config)), golden_header("head_component_weights.csv"));
}

TEST(PythonCompatCsv, HasNoNumberOfPairsInItsRows) {
  const HeadResult result = some_result();
  EXPECT_EQ(bucket_csv({&result, 1}, with("--compat", "python")),
            "layer,q_head,k_head,q_bucket,k_bucket,ap_bucket\n3,5,1,1,0,0.7\n3,5,1,2,0,\n3,5,1,2,1,1e-300\n");
}

TEST(CsvNumber, TakesTheShorterOfFixedAndScientific) {
  EXPECT_EQ(written(0), "0");
  EXPECT_EQ(written(-0.0), "-0");
  EXPECT_EQ(written(0.1), "0.1");
  EXPECT_EQ(written(1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(written(123456), "123456");
  EXPECT_EQ(written(1e22), "1e+22");
  EXPECT_EQ(written(-std::numeric_limits<double>::max()), "-1.7976931348623157e+308");
  EXPECT_EQ(written(std::numeric_limits<double>::denorm_min()), "5e-324");
}

TEST(CsvNumber, KeepsAllDigitsOfIntegers) {
  HeadResult result;
  constexpr auto bucket = std::numeric_limits<std::int64_t>::max();
  result.plasticity.cells = {{bucket, bucket - 1, 1, std::numeric_limits<std::size_t>::max()}};
  EXPECT_TRUE(bucket_csv({&result, 1}, {})
                  .ends_with("\n0,0,0,9223372036854775807,9223372036854775806,1,18446744073709551615\n"));
}

// Significant digits: those between the first and the last that are not 0.
std::size_t digits_of(const std::string& number) {
  std::string digits;
  for (const char c : number.substr(0, number.find('e'))) {
    if (c >= '0' && c <= '9') digits += c;
  }
  const std::size_t first = digits.find_first_not_of('0');
  return first == std::string::npos ? 1 : digits.find_last_not_of('0') - first + 1;
}

std::size_t fewest_digits(double value) {
  for (int precision = 0; precision < 16; ++precision) {
    char text[40];
    std::snprintf(text, sizeof text, "%.*e", precision, value);
    if (std::strtod(text, nullptr) == value) return digits_of(text);
  }
  return 17;
}

RC_GTEST_PROP(CsvNumber, ReadsBackToTheSameDoubleAndHasNoDigitTooMany, (std::uint64_t bits)) {
  const auto value = std::bit_cast<double>(bits);
  RC_PRE(std::isfinite(value));
  const std::string text = written(value);
  double read = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), read);
  RC_ASSERT(parsed.ptr == text.data() + text.size());
  RC_ASSERT(std::bit_cast<std::uint64_t>(read) == bits);
  // A whole number without exponent is written in full, even where zeros would read back as well.
  const bool in_full = text.find_first_of(".e") == std::string::npos;
  RC_ASSERT(in_full || digits_of(text) <= fewest_digits(value));
}

}  // namespace
}  // namespace attention_plasticity

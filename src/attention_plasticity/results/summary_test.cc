#include "attention_plasticity/results/summary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace attention_plasticity {
namespace {

constexpr double no_value = std::numeric_limits<double>::quiet_NaN();

std::vector<HeadResult> heads_with_plasticity(const std::vector<double>& values) {
  std::vector<HeadResult> results;
  for (const double value : values) {
    HeadResult& result = results.emplace_back();
    result.plasticity.overall = value;
  }
  return results;
}

ColumnSummary column(const std::vector<HeadResult>& results, std::string_view name) {
  const std::vector<ColumnSummary> columns = summarize(results, {});
  const auto found = std::ranges::find(columns, name, &ColumnSummary::column);
  EXPECT_NE(found, columns.end()) << name;
  return found == columns.end() ? ColumnSummary{} : *found;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), {}};
}

TEST(Summarize, ListsTheColumnsOfTheSummaryInOrder) {
  std::vector<std::string> names;
  for (const ColumnSummary& summary : summarize({}, {})) names.emplace_back(summary.column);
  EXPECT_EQ(names,
            (std::vector<std::string>{"q_R2_pos", "q_R2_scalar", "q_mae_ratio", "q_resid0_kurt", "q_noise_med_abs_skew",
                                      "q_noise_med_abs_kurt", "q_noise_frac_ks_p_lt_alpha", "ap_overall"}));
}

TEST(Summarize, TakesEachColumnFromItsOwnFigure) {
  HeadResult result;
  result.position_r_squared = 1;
  result.scalar = {2, 0, 0, 3};
  result.residual = {0, 4, 0};
  result.noise = {5, 6, 0, 7};
  result.plasticity.overall = 8;
  double expected = 0;
  for (const ColumnSummary& summary : summarize({&result, 1}, {}))
    EXPECT_EQ(summary.mean, ++expected) << summary.column;
}

// 0.1, 0.2, 0.4, 0.8: mean 0.375; squared deviations 0.075625 + 0.030625 + 0.000625 + 0.180625 = 0.2875, over 3.
// Quartiles at ranks 0.75, 1.5 and 2.25: 0.175, 0.3, 0.5.
TEST(Summarize, GivesMomentsWithOneLessAndInterpolatedQuartiles) {
  const ColumnSummary summary = column(heads_with_plasticity({0.8, 0.1, 0.4, 0.2}), "ap_overall");
  EXPECT_EQ(summary.count, 4U);
  EXPECT_NEAR(summary.mean, 0.375, 1e-15);
  EXPECT_NEAR(summary.deviation, std::sqrt(0.2875 / 3), 1e-15);
  EXPECT_EQ(summary.min, 0.1);
  EXPECT_NEAR(summary.quartile1, 0.175, 1e-15);
  EXPECT_NEAR(summary.median, 0.3, 1e-15);
  EXPECT_NEAR(summary.quartile3, 0.5, 1e-15);
  EXPECT_EQ(summary.max, 0.8);
}

TEST(Summarize, LeavesHeadsWithoutAValueOut) {
  const std::vector<HeadResult> with = heads_with_plasticity({no_value, 0.8, 0.1, no_value, 0.4, 0.2, no_value});
  const ColumnSummary summary = column(with, "ap_overall");
  EXPECT_EQ(summary.count, 4U);
  EXPECT_NEAR(summary.mean, 0.375, 1e-15);
  EXPECT_EQ(summary.min, 0.1);
  EXPECT_EQ(summary.max, 0.8);
  EXPECT_EQ(column(with, "q_R2_pos").count, 7U);
}

TEST(Summarize, HasNoDeviationOfOneHead) {
  const ColumnSummary summary = column(heads_with_plasticity({0.5}), "ap_overall");
  EXPECT_EQ(summary.count, 1U);
  EXPECT_EQ(summary.mean, 0.5);
  EXPECT_TRUE(std::isnan(summary.deviation));
  EXPECT_EQ(summary.quartile1, 0.5);
}

TEST(Summarize, HasOnlyNaNOfNoHeads) {
  for (const ColumnSummary& summary : summarize({}, {})) {
    EXPECT_EQ(summary.count, 0U);
    for (const double figure : {summary.mean, summary.deviation, summary.min, summary.quartile1, summary.median,
                                summary.quartile3, summary.max}) {
      EXPECT_TRUE(std::isnan(figure)) << summary.column;
    }
  }
}

TEST(SummaryTable, ShowsTheFiguresAndADashForNone) {
  const std::vector<std::string> lines =
      lines_of(summary_table(summarize(heads_with_plasticity({0.25, no_value}), {})));
  ASSERT_EQ(lines.size(), 9U);
  EXPECT_EQ(words_of(lines.front()),
            (std::vector<std::string>{"count", "mean", "std", "min", "25%", "50%", "75%", "max"}));
  EXPECT_EQ(words_of(lines.back()), (std::vector<std::string>{"ap_overall", "1", "0.2500", "-", "0.2500", "0.2500",
                                                              "0.2500", "0.2500", "0.2500"}));
}

void expect_aligned(const std::string& table) {
  for (const std::string& line : lines_of(table)) {
    EXPECT_EQ(line.size(), lines_of(table).front().size()) << table;
    EXPECT_EQ(words_of(line).size(), line.front() == ' ' ? 8U : 9U) << table;
  }
}

TEST(SummaryTable, IsAlignedForFiguresOfAnySize) {
  expect_aligned(summary_table(summarize({}, {})));
  expect_aligned(summary_table(summarize(heads_with_plasticity({0.5, 0.25}), {})));
  // The excess kurtosis of n rows grows as n.
  std::vector<HeadResult> results = heads_with_plasticity({0.5, no_value});
  for (const double kurtosis : {-1.5, 49999.125, 12345678.5, 1e20}) {
    results[1].residual.excess_kurtosis = kurtosis;
    expect_aligned(summary_table(summarize(results, {})));
  }
}

TEST(SummarizeModel, CountsHeadsStrictlyBelowAndAboveTheBounds) {
  const ModelSummary model =
      summarize_model("ap_overall", heads_with_plasticity({0.1, 0.25, no_value, 0.5, 0.75, 0.9, 0.8, 0.9, 0.76}), {});
  EXPECT_EQ(model.heads, 8U);
  EXPECT_NEAR(model.mean, 4.96 / 8, 1e-15);
  EXPECT_EQ(model.share_below, 1.0 / 8);
  EXPECT_EQ(model.share_above, 4.0 / 8);
  EXPECT_TRUE(std::isnan(model.error));
}

// Mean of 1, 2, 3, 6 is 3, squares 4 + 1 + 0 + 9 = 14, times 3/4.
TEST(SummarizeModel, TakesItsErrorFromTheGroupsLeftOut) {
  const std::vector<double> without_group{1, 2, 3, 6};
  EXPECT_DOUBLE_EQ(summarize_model("ap_overall", heads_with_plasticity({0.5}), without_group).error, std::sqrt(10.5));
}

TEST(SummarizeModel, HasNoErrorWhenAGroupLeavesNothing) {
  const std::vector<double> without_group{1, 2, no_value, 6};
  EXPECT_TRUE(std::isnan(summarize_model("ap_overall", heads_with_plasticity({0.5}), without_group).error));
}

TEST(SummarizeModel, HasOnlyNaNOfNoHeads) {
  const ModelSummary model = summarize_model("ap_overall", {}, {});
  EXPECT_EQ(model.heads, 0U);
  EXPECT_TRUE(std::isnan(model.mean));
  EXPECT_TRUE(std::isnan(model.share_below));
  EXPECT_TRUE(std::isnan(model.share_above));
}

TEST(ModelLine, SaysMeanErrorAndShares) {
  EXPECT_EQ(model_line("Plasticity", {"ap_overall", 40, 0.51234, 0.00321, 0.1, 0.325}),
            "Plasticity of the model: 0.5123 ± 0.0032 (mean of 40 heads); 10 % below 0.25, 32 % above 0.75");
}

TEST(ModelLine, LeavesAnUnknownErrorOut) {
  EXPECT_EQ(model_line("Plasticity", {"ap_overall", 1, 0.8, no_value, 0, 1}),
            "Plasticity of the model: 0.8000 (mean of 1 head); 0 % below 0.25, 100 % above 0.75");
}

TEST(ModelLine, SaysWhenNoHeadHasAValue) {
  EXPECT_EQ(model_line("Plasticity", summarize_model("ap_overall", heads_with_plasticity({no_value}), {})),
            "Plasticity of the model: no head has a value");
  EXPECT_EQ(model_line("Plasticity", summarize_model("ap_overall", {}, {})),
            "Plasticity of the model: no head has a value");
}

}  // namespace
}  // namespace attention_plasticity

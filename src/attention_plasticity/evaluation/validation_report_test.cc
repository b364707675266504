#include "attention_plasticity/evaluation/validation_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace attention_plasticity {
namespace {

Validation small_validation() {
  Validation validation;
  validation.joined = 40;
  validation.only_labelled = 230;
  validation.measures = {"ap_overall", "ap_exact"};
  validation.labels = {"induction", "self"};
  validation.correlations = {{"induction", "ap_overall", -0.325, {-0.5, -0.001}, 40},
                             {"induction", "ap_exact", 0.744, {0.52, 0.87}, 39},
                             {"self", "ap_overall", 0.1, {}, 40},
                             {"self", "ap_exact", std::numeric_limits<double>::quiet_NaN(), {}, 0}};
  validation.contrast = HeadContrast{"induction>0.1,self>1",
                                     "self<0",
                                     5,
                                     4,
                                     {{"induction>0.1,self>1 above self<0", "ap_overall", 0.04, {0, 0.125}, 9},
                                      {"induction>0.1,self>1 above self<0", "ap_exact", 1, {1, 1}, 9}}};
  return validation;
}

TEST(ValidationTable, AlignsLabelsAndMeasures) {
  EXPECT_EQ(validation_table(small_validation(), {}),
            "40 heads joined; 230 labelled heads are not in the metrics\n"
            "intervals: 95% over heads, 2000 resamples\n"
            "\n"
            "Spearman   ap_overall            ap_exact\n"
            "induction  -0.33 [-0.50, -0.00]  +0.74 [+0.52, +0.87]\n"
            "self       +0.10                 -\n"
            "\n"
            "Area under the ROC curve: induction>0.1,self>1 (5 heads) above self<0 (4 heads)\n"
            "           ap_overall         ap_exact\n"
            "AUC        0.04 [0.00, 0.12]  1.00 [1.00, 1.00]\n");
}

TEST(ValidationTable, FitsFourMeasuresInto120Columns) {
  Validation validation;
  validation.measures = {"ap_overall", "ap_exact", "logit_fixed", "logit_spread"};
  validation.labels = {"a_label_with_a_rather_long_name"};
  validation.correlations.assign(4, {"", "", -0.5, {-0.75, -0.25}, 9});
  std::istringstream lines(validation_table(validation, {}));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 120U) << line;
}

TEST(ValidationTable, DoesNotMentionIntervalsWithoutResamples) {
  EXPECT_EQ(validation_table(small_validation(), {.resamples = 0}).find("intervals"), std::string::npos);
}

TEST(ValidationCsv, HoldsAllDigitsAndQuotesCommas) {
  EXPECT_EQ(validation_csv(small_validation()),
            "statistic,label,measure,value,low,high,heads\n"
            "spearman,induction,ap_overall,-0.325,-0.5,-0.001,40\n"
            "spearman,induction,ap_exact,0.744,0.52,0.87,39\n"
            "spearman,self,ap_overall,0.1,,,40\n"
            "spearman,self,ap_exact,,,,0\n"
            "auc,\"induction>0.1,self>1 above self<0\",ap_overall,0.04,0,0.125,9\n"
            "auc,\"induction>0.1,self>1 above self<0\",ap_exact,1,1,1,9\n");
}

TEST(ValidationJson, HoldsEverything) {
  const auto json = nlohmann::json::parse(validation_json(small_validation(), {}, "m.csv", "l.csv"));
  EXPECT_EQ(json["metrics"], "m.csv");
  EXPECT_EQ(json["heads"]["joined"], 40);
  EXPECT_EQ(json["bootstrap"]["resamples"], 2000);
  EXPECT_EQ(json["spearman"].size(), 4U);
  EXPECT_EQ(json["spearman"][1]["value"], 0.744);
  EXPECT_TRUE(json["spearman"][3]["value"].is_null());
  EXPECT_EQ(json["auc"]["positives"], 5);
  EXPECT_EQ(json["auc"]["measures"][0]["high"], 0.125);
  Validation without = small_validation();
  without.contrast.reset();
  EXPECT_TRUE(nlohmann::json::parse(validation_json(without, {}, "m", "l"))["auc"].is_null());
}

}  // namespace
}  // namespace attention_plasticity

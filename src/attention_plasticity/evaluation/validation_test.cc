#include "attention_plasticity/evaluation/validation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "attention_plasticity/base/refusal_testing.h"
#include "attention_plasticity/stats/rank.h"
#include "places.h"

namespace attention_plasticity {
namespace {

HeadMetrics metrics(const std::string& text) { return HeadMetrics(parse_csv(text, "m.csv")); }
HeadLabels labels(const std::string& text) { return parse_head_labels(text, "l.csv"); }

ValidationOptions quick() {
  ValidationOptions options;
  options.bootstrap.resamples = 200;
  return options;
}

const Agreement& find(const std::vector<Agreement>& all, const std::string& label, const std::string& measure) {
  const auto found = std::ranges::find_if(
      all, [&](const Agreement& agreement) { return agreement.label == label && agreement.measure == measure; });
  if (found == all.end()) throw std::runtime_error("there is no value for " + label + " and " + measure);
  return *found;
}

double area_of(const std::string& file, const std::string& measure) {
  ValidationOptions options = quick();
  options.positive = "induction>0.1";
  options.negative = "previous_token>0.25";
  const Validation validation =
      validate(read_head_metrics(ResultFiles(source_folder() / "tests/golden/smollm2-135m" / file)),
               read_head_labels(source_folder() / "examples/smollm2-135m/head_labels.csv"), options);
  EXPECT_EQ(validation.joined, 40U);
  EXPECT_EQ(validation.only_labelled, 230U);
  EXPECT_EQ(validation.only_measured, 0U);
  return find(validation.contrast->areas, "induction>0.1 above previous_token>0.25", measure).value;
}

// In SmolLM2-135M the position-exact measure ranks heads that attend by content above heads that attend by position;
// the pooled measure ranks them the wrong way round.
TEST(Validation, RanksInductionAbovePreviousTokenHeadsOnlyByTheExactMeasure) {
  EXPECT_EQ(area_of("exact/head_exact.csv", "ap_exact"), 1.0);
  EXPECT_NEAR(area_of("positional/head_metrics.csv", "ap_overall"), 0.04, 0.005);
}

TEST(Validation, FindsTheKnownCorrelationsOfARealModel) {
  const Validation validation =
      validate(read_head_metrics(ResultFiles(source_folder() / "tests/golden/minidoc-qwen3/exact/head_exact.csv")),
               read_head_labels(source_folder() / "examples/minidoc-qwen3/head_labels.csv"), quick());
  EXPECT_EQ(validation.joined, 60U);
  EXPECT_EQ(validation.measures, (std::vector<std::string>{"ap_exact", "logit_fixed", "logit_spread"}));
  const Agreement& induction = find(validation.correlations, "induction", "ap_exact");
  EXPECT_NEAR(induction.value, 0.84, 0.005);
  EXPECT_LT(induction.interval.low, induction.value);
  EXPECT_GT(induction.interval.high, induction.value);
  EXPECT_GT(induction.interval.low, 0.6);
  EXPECT_NEAR(find(validation.correlations, "previous_token", "ap_exact").value, -0.69, 0.005);
  EXPECT_TRUE(validation.notes.at(0).ends_with("head_exact.csv: has no ap_overall")) << validation.notes[0];
}

const std::string four_heads =
    "layer,q_head,k_head,ap_exact,other\n0,0,0,0.1,4\n0,1,0,0.2,3\n0,2,1,0.3,2\n0,3,1,0.4,\n";

TEST(Validation, JoinsByLayerAndHead) {
  const Validation validation =
      validate(metrics(four_heads), labels("layer,q_head,x\n0,2,3\n0,0,1\n0,1,2\n1,0,9\n0,7,9\n"), quick());
  EXPECT_EQ(validation.joined, 3U);
  EXPECT_EQ(validation.only_labelled, 2U);
  EXPECT_EQ(validation.only_measured, 1U);
  EXPECT_EQ(find(validation.correlations, "x", "ap_exact").value, 1.0);
  EXPECT_EQ(find(validation.correlations, "x", "ap_exact").heads, 3U);
}

TEST(Validation, DoesNotDependOnTheOrderOfRows) {
  const auto figures = [](const std::string& rows) {
    return find(validate(metrics("layer,q_head,k_head,ap_exact\n" + rows),
                         labels("layer,q_head,x\n0,0,1\n0,1,5\n0,2,2\n0,3,4\n"), quick())
                    .correlations,
                "x", "ap_exact");
  };
  const Agreement one = figures("0,0,0,0.1\n0,1,0,0.2\n0,2,1,0.4\n0,3,1,0.3\n");
  const Agreement other = figures("0,3,1,0.3\n0,1,0,0.2\n0,0,0,0.1\n0,2,1,0.4\n");
  EXPECT_EQ(one.value, other.value);
  EXPECT_EQ(one.interval.low, other.interval.low);
  EXPECT_EQ(one.interval.high, other.interval.high);
}

TEST(Validation, SaysWhatMissingMeasuresNeed) {
  const Validation validation = validate(metrics("layer,q_head,k_head,ap_overall,logit_fixed\n0,0,0,1,1\n"),
                                         labels("layer,q_head,x\n0,0,1\n"), {});
  EXPECT_EQ(validation.measures, (std::vector<std::string>{"ap_overall", "logit_fixed"}));
  EXPECT_EQ(validation.notes, (std::vector<std::string>{"m.csv: has no ap_exact, logit_spread; ap_exact and the logits "
                                                        "are measured only when the model's rotation is known"}));
}

TEST(Validation, SpreadsLabelsOfKvHeadsOverTheirQueryHeads) {
  const Validation validation = validate(metrics(four_heads), labels("0.25\t0.75\t0.5\n"), quick());
  EXPECT_EQ(validation.joined, 4U);
  EXPECT_EQ(validation.only_labelled, 1U);
  const std::vector<double> spread{0.25, 0.25, 0.75, 0.75};
  EXPECT_EQ(find(validation.correlations, "score", "ap_exact").value,
            spearman(spread, std::vector<double>{0.1, 0.2, 0.3, 0.4}));
}

TEST(Validation, LeavesHeadsWithoutAValueOutOfThatPairOnly) {
  ValidationOptions options = quick();
  options.measures = {"ap_exact", "other"};
  const Validation validation =
      validate(metrics(four_heads), labels("layer,q_head,x,y\n0,0,1,1\n0,1,2,2\n0,2,3,\n0,3,4,4\n"), options);
  EXPECT_EQ(find(validation.correlations, "x", "ap_exact").heads, 4U);
  EXPECT_EQ(find(validation.correlations, "x", "other").heads, 3U);
  EXPECT_EQ(find(validation.correlations, "x", "other").value, -1.0);
  EXPECT_EQ(find(validation.correlations, "y", "other").heads, 2U);
  EXPECT_EQ(validation.notes,
            (std::vector<std::string>{"y has no value for 1 of 4 heads, which are left out of its figures",
                                      "other has no value for 1 of 4 heads, which are left out of its figures"}));
}

TEST(Validation, HasNoCorrelationForALabelWithoutSpread) {
  const Validation validation =
      validate(metrics(four_heads), labels("layer,q_head,x\n0,0,1\n0,1,1\n0,2,1\n0,3,1\n"), quick());
  const Agreement& agreement = find(validation.correlations, "x", "ap_exact");
  EXPECT_TRUE(std::isnan(agreement.value));
  EXPECT_TRUE(std::isnan(agreement.interval.low));
  EXPECT_EQ(agreement.heads, 4U);
}

TEST(Validation, ValuesDoNotDependOnTheOtherMeasuresAskedFor) {
  ValidationOptions options = quick();
  options.measures = {"ap_exact", "other"};
  const HeadLabels known = labels("layer,q_head,x\n0,0,1\n0,1,3\n0,2,2\n0,3,4\n");
  const Agreement beside = find(validate(metrics(four_heads), known, options).correlations, "x", "other");
  options.measures = {"other"};
  const Agreement alone = find(validate(metrics(four_heads), known, options).correlations, "x", "other");
  EXPECT_EQ(beside.value, alone.value);
  EXPECT_EQ(beside.interval.low, alone.interval.low);
}

const std::string two_kinds = "layer,q_head,x,y\n0,0,0,1\n0,1,0,1\n0,2,1,0\n0,3,1,1\n";

HeadContrast contrast(const std::string& positive, const std::string& negative,
                      std::vector<std::string>* notes = nullptr) {
  ValidationOptions options = quick();
  options.positive = positive;
  options.negative = negative;
  const Validation validation = validate(metrics(four_heads), labels(two_kinds), options);
  if (notes != nullptr) *notes = validation.notes;
  return *validation.contrast;
}

TEST(Validation, CountsAHeadOfBothKindsOnNeitherSide) {
  std::vector<std::string> notes;
  const HeadContrast sides = contrast("x>0.5", "y>0.5", &notes);
  EXPECT_EQ(sides.positives, 1U);
  EXPECT_EQ(sides.negatives, 2U);
  EXPECT_EQ(sides.areas[0].value, 1.0);
  EXPECT_EQ(sides.areas[0].heads, 3U);
  EXPECT_EQ(notes.back(), "1 heads meet both x>0.5 and y>0.5, and count on neither side");
}

TEST(Validation, TakesAnyOfSeveralConditions) {
  const HeadContrast sides = contrast("x>0.5, y<0.5", "x<0.5");
  EXPECT_EQ(sides.positive, "x>0.5,y<0.5");
  EXPECT_EQ(sides.positives, 2U);
  EXPECT_EQ(sides.negatives, 2U);
  EXPECT_EQ(sides.areas[0].label, "x>0.5,y<0.5 above x<0.5");
}

TEST(Validation, RefusesConditionsThatNoHeadMeets) {
  const auto refused = [](const std::string& positive, const std::string& negative) {
    return refusal([&] { contrast(positive, negative); });
  };
  EXPECT_EQ(refused("x>1", "y>0.5"),
            "usage: none of the 4 heads meets x>1: the largest x is 1, the median 0.5, the smallest 0");
  EXPECT_EQ(refused("y>0", "x<0"),
            "usage: none of the 4 heads meets x<0: the largest x is 1, the median 0.5, the smallest 0");
  EXPECT_EQ(refused("x>0.5", "x>=0"), "usage: every head that meets x>0.5 also meets x>=0, and counts on neither side");
  EXPECT_EQ(refused("xx>1", "y>0"), "usage: 'xx' is not a label; did you mean x?");
  EXPECT_EQ(refused("induction>1", "y>0"), "usage: 'induction' is not a label; there are x, y");
}

TEST(Validation, RefusesWhatCannotBeCompared) {
  EXPECT_EQ(refusal([] { validate(metrics(four_heads), labels("layer,q_head,x\n5,0,1\n"), quick()); }),
            "input: l.csv: none of the heads that it labels (1) is in m.csv; are both of the same model?");
  EXPECT_EQ(refusal([] { validate(metrics("layer,q_head,k_head,z\n0,0,0,1\n"), labels(two_kinds), quick()); }),
            "input: m.csv: has none of the columns ap_overall, ap_exact, logit_fixed, logit_spread; choose others with "
            "`columns`");
  ValidationOptions options = quick();
  options.measures = {"oter"};
  EXPECT_EQ(refusal([&] { validate(metrics(four_heads), labels(two_kinds), options); }),
            "usage: m.csv has no column 'oter'; did you mean other?");
  options = quick();
  options.negative = "x>0";
  EXPECT_TRUE(refusal([&] {
                validate(metrics(four_heads), labels(two_kinds), options);
              }).starts_with("usage: negative needs positive beside it"));
}

}  // namespace
}  // namespace attention_plasticity

#include "attention_plasticity/synth/truth.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>
#include <ostream>
#include <string>

#include "attention_plasticity/analyze_head.h"
#include "attention_plasticity/synth/generated_rows.h"

namespace attention_plasticity {
namespace {

constexpr HeadNumber head{0, 1};

// The mean of f(z) for z = size sqrt(dim) u, where u is a coordinate of a random direction. This is the truth of an
// isotropic head without drift, whose z is the component of the constant part along w.
double isotropic_mean(double size, std::size_t dim, const std::function<double(double)>& f) {
  constexpr int steps = 20000;
  double sum = 0;
  double total = 0;
  for (int i = 0; i < steps; ++i) {
    const double u = (i + 0.5) * 2 / steps - 1;
    const double density = std::pow(1 - u * u, (static_cast<double>(dim) - 3) / 2);
    sum += density * f(size * std::sqrt(static_cast<double>(dim)) * u);
    total += density;
  }
  return sum / total;
}

double normal_plasticity(double z) { return std::erfc(z / std::numbers::sqrt2) * std::erfc(-z / std::numbers::sqrt2); }

// The same with the distribution function of Student's t with 5 degrees of freedom; z is in deviations.
double heavy_plasticity(double z) {
  const double angle = std::atan(z / std::sqrt(3.0));
  const double cosine = std::cos(angle);
  const double p = 0.5 + (angle + std::sin(angle) * cosine * (1 + 2.0 / 3.0 * cosine * cosine)) / std::numbers::pi;
  return 4 * p * (1 - p);
}

SynthOptions isotropic(double mean) {
  SynthOptions options;
  options.dim = 24;
  options.slope = 0;
  options.spectrum = 0;
  options.mean = mean;
  return options;
}

TEST(Truth, OfAnIsotropicHeadIsAnIntegral) {
  for (const double size : {0.3, 1.0, 3.0, 30.0}) {
    const HeadTruth truth = head_truth(isotropic(size), head);
    const double expected = isotropic_mean(size, 24, normal_plasticity);
    EXPECT_NEAR(truth.plasticity.value, expected, 4 * truth.plasticity.error) << "size " << size;
    EXPECT_NEAR(truth.choice.value, expected, 4 * truth.choice.error) << "size " << size;
    EXPECT_NEAR(truth.exact.plasticity.value, expected, 4 * truth.exact.plasticity.error) << "size " << size;
    EXPECT_LT(truth.plasticity.error, 0.005);
    EXPECT_LT(truth.exact.plasticity.error, 0.006);
    EXPECT_EQ(truth.exact.triples, 8192U);
    EXPECT_LT(truth.choice.error, 0.01);
  }
}

TEST(Truth, CountsDocumentEffectsAsSpread) {
  SynthOptions options = isotropic(2);
  options.example_effect = 1.5;
  const HeadTruth truth = head_truth(options, head);
  const double expected = isotropic_mean(2 / std::sqrt(1 + 1.5 * 1.5), 24, normal_plasticity);
  EXPECT_NEAR(truth.plasticity.value, expected, 4 * truth.plasticity.error);
  EXPECT_NEAR(truth.choice.value, expected, 4 * truth.choice.error);
  EXPECT_NEAR(truth.exact.plasticity.value, expected, 4 * truth.exact.plasticity.error);
}

TEST(Truth, HeavyTailsChangeTheChoiceButNotItsGaussianModel) {
  SynthOptions options = isotropic(1);
  options.tails = Tails::heavy;
  options.truth_pairs = 30000;
  const HeadTruth truth = head_truth(options, head);
  const double gaussian = isotropic_mean(1, 24, normal_plasticity);
  const double choice = isotropic_mean(1, 24, heavy_plasticity);
  EXPECT_NEAR(truth.plasticity.value, gaussian, 4 * truth.plasticity.error);
  EXPECT_NEAR(truth.choice.value, choice, 4 * truth.choice.error);
  EXPECT_GT(gaussian - choice, 8 * truth.choice.error);
}

TEST(Truth, WithoutAMeanIsOneAndWithALargeMeanIsSmall) {
  const HeadTruth free = head_truth(isotropic(0), head);
  EXPECT_NEAR(free.plasticity.value, 1, 1e-14);  // weights of cells are rounded
  EXPECT_EQ(free.plasticity.error, 0);
  EXPECT_LT(head_truth(isotropic(50), head).plasticity.value, 0.03);
}

TEST(Truth, FallsWhereTheDriftHasGone) {
  SynthOptions options = isotropic(0);
  options.slope = 6;
  const HeadTruth truth = head_truth(options, head);
  EXPECT_GT(truth.cells.front().plasticity.value, truth.cells.back().plasticity.value + 0.3);
}

TEST(Truth, OfOneBucketOrWithoutPairsIsNone) {
  SynthOptions options;
  options.buckets = 1;
  EXPECT_TRUE(std::isnan(head_truth(options, head).plasticity.value));
  EXPECT_GT(head_truth(options, head).exact.plasticity.value, 0);  // position-exact plasticity needs no buckets
  options.rows = options.examples;                                 // one key of each document
  EXPECT_TRUE(std::isnan(head_truth(options, head).exact.plasticity.value));
  EXPECT_EQ(head_truth(options, head).exact.triples, 0U);
  options = SynthOptions{};
  options.truth_pairs = 0;
  const HeadTruth truth = head_truth(options, head);
  EXPECT_TRUE(std::isnan(truth.plasticity.value));
  EXPECT_TRUE(std::isnan(truth.choice.error));
  EXPECT_TRUE(std::isnan(truth.exact.plasticity.value));
  EXPECT_EQ(truth.pairs, 0U);
  EXPECT_TRUE(truth.cells.empty());
}

TEST(Truth, CellsOfAWindowReachAsFarBackAsItsTokens) {
  SynthOptions options;
  options.dim = 4;
  options.truth_pairs = 1;
  EXPECT_EQ(head_truth(options, head).cells.size(), 120U);
  // Bucket j is centred on 128 j + 63.5: a window of 300 ends within bucket j - 2.
  options.window = 300;
  const HeadTruth truth = head_truth(options, head);
  EXPECT_EQ(truth.cells.size(), 1U + 2U * 14U);
  EXPECT_EQ(truth.pairs, 4 * truth.cells.size());
  for (const CellTruth& cell : truth.cells) EXPECT_LE(cell.query_bucket - cell.key_bucket, 2U);
  options.window = 1;
  EXPECT_EQ(head_truth(options, head).cells.size(), 15U);
  options.sliding_layers = {1};
  EXPECT_EQ(head_truth(options, head).cells.size(), 120U);
}

struct Case {
  std::string name;
  std::function<void(SynthOptions&)> change;
};

void PrintTo(const Case& tested, std::ostream* out) { *out << tested.name; }

class AnalysisOfSynthetic : public testing::TestWithParam<Case> {};

// The one test of both ways together: the rows go through the whole analysis, the truth comes from the parameters.
TEST_P(AnalysisOfSynthetic, AgreesWithTheTruth) {
  SynthOptions synth;
  synth.rows = 20000;
  synth.dim = 16;
  synth.examples = 40;
  GetParam().change(synth);
  check(synth);
  const HeadTruth truth = head_truth(synth, head);
  const HeadNumber key_head = key_head_of(synth, head);

  AnalysisOptions options;
  options.method = Method::full;
  options.num_pairs_per_bucket = 256;
  options.normality_max_dims = 0;
  const Rotation rotation = make_rotation(synth).value_or(Rotation{});
  const HeadResult result =
      analyze_head({head.layer, head.head, key_head.head}, generate_rows(synth, Side::query, head),
                   generate_rows(synth, Side::key, key_head), options, &rotation);
  EXPECT_EQ(result.plasticity.cells.size(), truth.cells.size());
  const double error = std::hypot(truth.plasticity.error, result.plasticity_error);
  EXPECT_LT(error, 0.03);
  EXPECT_NEAR(result.plasticity.overall, truth.plasticity.value, 4 * error);
  ASSERT_TRUE(result.exact);
  const double exact_error = std::hypot(truth.exact.plasticity.error, result.exact_error);
  EXPECT_LT(exact_error, 0.03);
  EXPECT_NEAR(result.exact->overall, truth.exact.plasticity.value, 4 * exact_error);
  RecordProperty("z_exact", std::to_string((result.exact->overall - truth.exact.plasticity.value) / exact_error));
  RecordProperty("z", std::to_string((result.plasticity.overall - truth.plasticity.value) / error));
}

INSTANTIATE_TEST_SUITE_P(
    Truth, AnalysisOfSynthetic,
    testing::Values(Case{"Defaults", [](SynthOptions&) {}}, Case{"SteepSlope", [](SynthOptions& o) { o.slope = 6; }},
                    Case{"LargeMean", [](SynthOptions& o) { o.mean = 8; }},
                    Case{"SteepSpectrum", [](SynthOptions& o) { o.spectrum = 1.5; }},
                    Case{"ExampleEffects", [](SynthOptions& o) { o.example_effect = 0.5, o.examples = 80; }},
                    Case{"Rotation", [](SynthOptions& o) { o.rope_theta = 10000, o.mean = 2; }},
                    Case{"HeavyTails", [](SynthOptions& o) { o.tails = Tails::heavy, o.mean = 1; }},
                    Case{"Bfloat16", [](SynthOptions& o) { o.bfloat16 = true; }},
                    Case{"LogBuckets", [](SynthOptions& o) { o.spacing = BucketSpacing::log, o.buckets = 12; }},
                    Case{"Window", [](SynthOptions& o) { o.window = 300, o.slope = 4; }}),
    [](const testing::TestParamInfo<Case>& tested) { return tested.param.name; });

}  // namespace
}  // namespace attention_plasticity

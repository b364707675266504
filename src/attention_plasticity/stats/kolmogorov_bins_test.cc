#include "attention_plasticity/stats/kolmogorov_bins.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "attention_plasticity/base/highway_targets_testing.h"
#include "attention_plasticity/stats/kolmogorov.h"
#include "attention_plasticity/stats/kolmogorov_testing.h"
#include "attention_plasticity/stats/normal.h"
#include "places.h"

namespace attention_plasticity {
namespace {

constexpr double tolerance = 1e-15;  // both versions may round a standardised value differently

// Both distances of a sample with the given mean and deviation. A deviation is `per_deviation` codes wide.
struct Distances {
  double by_bins;
  double by_sorting;
  std::size_t asked_for;  // number of exact values
};

Distances distances(const std::vector<double>& values, double mean, double deviation, double per_deviation,
                    KolmogorovBins& bins) {
  const double codes_per_unit = per_deviation / deviation;
  std::vector<std::uint16_t> codes;
  std::vector<double> standardised;
  for (const double value : values) {
    codes.push_back(code_of(value, codes_per_unit));
    standardised.push_back((value - mean) / deviation);
  }
  std::size_t asked_for = 0;
  const auto exact = [&, unsorted = standardised](std::span<const std::uint32_t> indices, std::span<double> out) {
    asked_for += indices.size();
    for (std::size_t i = 0; i < indices.size(); ++i) out[i] = unsorted[indices[i]];
  };
  const double by_bins =
      bins.distance({codes, (-32768.0 / codes_per_unit - mean) / deviation, 1.0 / per_deviation, exact});
  return {by_bins, distance_by_sorting(standardised), asked_for};
}

void expect_same(const std::vector<double>& values, double mean = 0.0, double deviation = 1.0) {
  for_every_target([&](const char* target) {
    SCOPED_TRACE(target);
    KolmogorovBins bins;
    // The usual width of codes, and widths that do not suit the sample at all.
    for (const double per_deviation : {4096.0, 200.0, 1e-9, 1e5, 1e12}) {
      if (per_deviation != 4096.0 && values.size() > 5000) continue;  // the result is right, but slow
      SCOPED_TRACE(per_deviation);
      const Distances both = distances(values, mean, deviation, per_deviation, bins);
      EXPECT_NEAR(both.by_bins, both.by_sorting, tolerance);
    }
  });
}

std::vector<double> sample(std::size_t n, const auto& draw) {
  std::mt19937_64 generator(n);
  std::vector<double> values(n);
  for (double& value : values) value = draw(generator);
  return values;
}

double distance(const std::vector<double>& standardised) {
  KolmogorovBins bins;
  return distances(standardised, 0.0, 1.0, 4096.0, bins).by_bins;
}

TEST(KolmogorovBins, SeeTheLargerSideOfTheStepAtOneValue) {
  EXPECT_EQ(distance({0.0}), 0.5);
  EXPECT_DOUBLE_EQ(distance({-1.0}), 1.0 - normal_cdf(-1.0));
  EXPECT_DOUBLE_EQ(distance({1.0}), normal_cdf(1.0));
}

TEST(KolmogorovBins, CountTiesAsOneStep) {
  EXPECT_EQ(distance({0.0, 0.0, 0.0, 0.0}), 0.5);
  EXPECT_DOUBLE_EQ(distance({1.0, -1.0, 1.0, -1.0}), 0.5 - normal_cdf(-1.0));
}

TEST(KolmogorovBins, GiveSciPysTestOfStandardisedSamples) {
  std::ifstream file(source_folder() / "tests/golden/normality_cases.json");
  const auto cases = nlohmann::json::parse(file);
  ASSERT_EQ(cases.size(), 6U);
  for (const auto& golden : cases) {
    auto x = golden.at("x").get<std::vector<double>>();
    SCOPED_TRACE(x.size());
    const auto n = static_cast<double>(x.size());
    double mean = 0.0;
    for (const double value : x) mean += value / n;
    double variance = 0.0;
    for (const double value : x) variance += (value - mean) * (value - mean) / (n - 1.0);
    for (double& value : x) value = (value - mean) / std::sqrt(variance);
    const double expected = golden.at("ks_p_standardised");
    EXPECT_NEAR(kolmogorov_survival(x.size(), distance(x)) / expected, 1.0, x.size() <= 140 ? 1e-10 : 1e-5);
  }
}

// Checks distance_by_sorting, which the other tests rely on, by the definition of the distance.
RC_GTEST_PROP(KolmogorovDistanceBySorting, IsTheLargestGapAtAnyPoint, (const std::vector<std::int8_t>& numbers)) {
  std::vector<double> values;
  values.reserve(numbers.size() + 1);
  for (const std::int8_t number : numbers) values.push_back(number / 40.0);
  values.push_back(0.3);
  const auto n = static_cast<double>(values.size());
  double largest = 0.0;
  for (const double at : values) {
    const auto below = static_cast<double>(std::ranges::count_if(values, [&](double v) { return v < at; }));
    const auto up_to = static_cast<double>(std::ranges::count_if(values, [&](double v) { return v <= at; }));
    largest = std::max({largest, std::abs(below / n - normal_cdf(at)), std::abs(up_to / n - normal_cdf(at))});
  }
  RC_ASSERT(std::abs(distance_by_sorting(values) - largest) <= 1e-15);
}

TEST(KolmogorovBins, AgreeWithSortingForEveryKindOfSample) {
  for (const std::size_t n : {1U, 2U, 3U, 17U, 300U, 2047U, 2048U, 5000U, 28000U, 70001U}) {
    SCOPED_TRACE(n);
    expect_same(sample(n, [](auto& g) { return std::normal_distribution()(g); }));
    expect_same(sample(n, [](auto& g) { return std::student_t_distribution(3.0)(g); }), 0.0, 1.7);
    expect_same(sample(n, [](auto& g) { return std::uniform_real_distribution(-1.8, 1.8)(g); }), 0.1, 1.04);
    expect_same(sample(n, [](auto& g) { return std::exponential_distribution()(g) - 1.0; }));
    expect_same(sample(n, [](auto& g) { return std::round(4.0 * std::normal_distribution()(g)) / 4.0; }));
  }
}

TEST(KolmogorovBins, AgreeWithSortingForTwoValuesTiesAndOutliers) {
  std::vector<double> lopsided(1000, -0.03);
  lopsided[500] = 31.0;
  expect_same(lopsided);
  expect_same(std::vector<double>(100, 0.0));
  expect_same({-1.0, 1.0});
  expect_same({-1e30, 0.0, 1e30});
  expect_same({-40.0, -39.0, -38.0});
  expect_same({5.0, 5.0, 5.0, -5.0});
}

// One bin may hold most of the values.
TEST(KolmogorovBins, AgreeWithSortingWhereManyValuesAreEqual) {
  for (const std::size_t equal : {255U, 3000U, 70000U}) {
    SCOPED_TRACE(equal);
    std::vector<double> values = sample(2000, [](auto& g) { return std::normal_distribution()(g); });
    values.insert(values.end(), equal, 0.3);
    expect_same(values);
    expect_same(std::vector<double>(equal, -0.2));
  }
}

TEST(KolmogorovBins, TakeValuesOfAnyMagnitude) {
  expect_same({1e5, 1e5 + 1.0, 1e5 + 2.0, 1e5 + 3.0}, 1e5 + 1.5, 1.3);
  expect_same({-1e-35, 2e-35, 5e-36, 0.0}, 0.0, 1e-35);
  expect_same({-1e35, 2e35, 5e34, 0.0}, 0.0, 1e35);
}

TEST(KolmogorovBins, GiveZeroForNoValues) {
  EXPECT_EQ(KolmogorovBins().distance({{}, -8.0, 1.0, [](auto, auto) {}}), 0.0);
}

TEST(KolmogorovBins, AskForFewExactValues) {
  KolmogorovBins bins;
  const auto heavy = sample(28000, [](auto& g) { return std::student_t_distribution(5.0)(g); });
  EXPECT_LT(distances(heavy, 0.0, 1.3, 4096.0, bins).asked_for, 1000U);
  const auto normal = sample(28000, [](auto& g) { return std::normal_distribution()(g); });
  EXPECT_LT(distances(normal, 0.0, 1.0, 4096.0, bins).asked_for, 1000U);
}

RC_GTEST_PROP(KolmogorovBins, AgreeWithSorting, (const std::vector<std::int16_t>& numbers)) {
  const double unit = std::exp2(*rc::gen::inRange(-16, -6));
  std::vector<double> values{0.25};
  for (const std::int16_t number : numbers) values.push_back(number * unit);
  KolmogorovBins bins;
  const Distances both = distances(values, *rc::gen::inRange(-8, 9) / 8.0, 1.0, 4096.0, bins);
  RC_ASSERT(std::abs(both.by_bins - both.by_sorting) <= tolerance);
  // A second sample must not see counts of the first.
  values.resize(values.size() / 2 + 1);
  const Distances second = distances(values, 0.0, 0.5, 3000.0, bins);
  RC_ASSERT(std::abs(second.by_bins - second.by_sorting) <= tolerance);
}

}  // namespace
}  // namespace attention_plasticity

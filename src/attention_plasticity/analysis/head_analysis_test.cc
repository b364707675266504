// Properties that need no reference: cases in which the plasticity is known.

#include "attention_plasticity/analysis/head_analysis.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "attention_plasticity/analyze_head.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/plasticity/random_rows_testing.h"

namespace attention_plasticity {
namespace {

constexpr HeadId head{1, 2, 0};

AnalysisOptions with(Method method) {
  AnalysisOptions options;
  options.method = method;
  return options;
}

double plasticity(const HeadRows& queries, const HeadRows& keys, const AnalysisOptions& options) {
  return analyze_head(head, queries, keys, options).plasticity.overall;
}

HeadRows some_keys(std::size_t width, std::uint64_t seed) {
  NumpyGenerator generator(seed);
  return random_rows(8, 24, 96, 24, width, generator);
}

HeadRows some_queries(std::size_t width, std::uint64_t seed) {
  NumpyGenerator generator(seed);
  HeadRows queries = random_rows(8, 24, 96, 24, width, generator);
  for (std::size_t i = 0; i < queries.size(); ++i)
    queries.vectors[i * width] += static_cast<float>(1 + 0.01 * queries.position[i]);
  return queries;
}

// Each query and its negative, at one position: every mean and slope is zero.
HeadRows mirrored(HeadRows rows) {
  const std::size_t n = rows.size();
  for (std::size_t i = 0; i < n; ++i) {
    rows.bucket.push_back(rows.bucket[i]);
    rows.example.push_back(rows.example[i]);
    rows.position.push_back(rows.position[i]);
    for (std::size_t c = 0; c < rows.width; ++c) rows.vectors.push_back(-rows.vectors[i * rows.width + c]);
  }
  return rows;
}

HeadRows permuted(const HeadRows& rows, std::uint64_t seed) {
  HeadRows result;
  result.width = rows.width;
  for (const std::size_t i : NumpyGenerator(seed).choice_without_replacement(rows.size(), rows.size())) {
    result.bucket.push_back(rows.bucket[i]);
    result.example.push_back(rows.example[i]);
    result.position.push_back(rows.position[i]);
    result.vectors.insert(result.vectors.end(), rows.row(i).begin(), rows.row(i).end());
  }
  return result;
}

class EveryMethod : public testing::TestWithParam<Method> {};
INSTANTIATE_TEST_SUITE_P(All, EveryMethod, testing::Values(Method::positional, Method::full, Method::diagonal));

TEST_P(EveryMethod, FindsFullPlasticityInQueriesOfZeroMean) {
  const HeadResult result = analyze_head(head, mirrored(some_queries(6, 1)), some_keys(6, 2), with(GetParam()));
  EXPECT_NEAR(result.plasticity.overall, 1, 1e-12);
}

TEST_P(EveryMethod, FindsNoPlasticityInDeterministicQuery) {
  HeadRows queries = some_queries(6, 1);
  for (std::size_t i = 0; i < queries.vectors.size(); ++i) queries.vectors[i] = static_cast<float>(i % 6) + 0.3F;
  const HeadResult result = analyze_head(head, queries, some_keys(6, 2), with(GetParam()));
  EXPECT_EQ(result.plasticity.overall, 0);
  EXPECT_EQ(result.plasticity_error, 0);
  EXPECT_EQ(result.position_r_squared, 0);
}

TEST_P(EveryMethod, DoesNotDependOnOrderOfQueries) {
  const HeadRows queries = some_queries(5, 3);
  const HeadRows keys = some_keys(5, 4);
  const HeadResult one = analyze_head(head, queries, keys, with(GetParam()));
  const HeadResult other = analyze_head(head, permuted(queries, 9), keys, with(GetParam()));
  EXPECT_NEAR(one.plasticity.overall, other.plasticity.overall, 1e-12);
  EXPECT_NEAR(one.plasticity_error, other.plasticity_error, 1e-12);
  EXPECT_NEAR(one.position_r_squared, other.position_r_squared, 1e-12);
  EXPECT_NEAR(one.scalar.mae_projection, other.scalar.mae_projection, 1e-12);
  EXPECT_NEAR(one.residual.excess_kurtosis, other.residual.excess_kurtosis, 1e-10);
  EXPECT_NEAR(one.noise.median_ks_p, other.noise.median_ks_p, 1e-10);
}

TEST_P(EveryMethod, StaysBetweenZeroAndOne) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    for (const Sampler sampler : {Sampler::bucket, Sampler::local}) {
      AnalysisOptions options = with(GetParam());
      options.sampler = sampler;
      const HeadResult result = analyze_head(head, some_queries(4, seed), some_keys(4, seed + 50), options);
      for (const Cell& cell : result.plasticity.cells) {
        EXPECT_GE(cell.plasticity, 0);
        EXPECT_LE(cell.plasticity, 1);
      }
      EXPECT_GE(result.plasticity_error, 0);
    }
  }
}

// Queries (1, ±1): mean along the first component, spread along the second. Pairs differ by (g, 1) with
// g ~ N(0, s²), so z = g and the mean of 4 Phi(z) Phi(-z) is 1 - (2/pi) arcsin(s² / (1 + s²)).
TEST(Plasticity, OfNormalZHasClosedForm) {
  HeadRows queries;
  queries.width = 2;
  for (int i = 0; i < 200; ++i) {
    queries.bucket.push_back(1);
    queries.example.push_back(static_cast<std::uint64_t>(i));
    queries.position.push_back(150);
    // 1 / sqrt(1.005...) makes the n - 1 variance of ±a exactly 1 up to float rounding.
    const auto spread = static_cast<float>(std::sqrt(199.0 / 200.0));
    queries.vectors.insert(queries.vectors.end(), {1.0F, i % 2 == 0 ? spread : -spread});
  }
  for (const double s : {0.3, 1.0, 3.0}) {
    NumpyGenerator generator(11);
    constexpr std::size_t pairs = 20000;
    HeadRows keys;
    keys.width = 2;
    for (std::uint64_t i = 0; i < pairs; ++i) {
      const auto half = static_cast<float>(s * random_normal(generator) / 2);
      keys.bucket.insert(keys.bucket.end(), {0, 0});
      keys.example.insert(keys.example.end(), {1000 + i, 1000 + i});
      keys.position.insert(keys.position.end(), {10, 20});
      keys.vectors.insert(keys.vectors.end(), {half, 0.5F, -half, -0.5F});
    }
    AnalysisOptions options = with(Method::full);
    options.num_pairs_per_bucket = pairs;
    options.standard_errors = false;
    const double expected = 1 - 2 / std::numbers::pi * std::asin(s * s / (1 + s * s));
    // A value in [0, 1] has deviation 1/2 at most.
    EXPECT_NEAR(plasticity(queries, keys, options), expected, 4 * 0.5 / std::sqrt(static_cast<double>(pairs))) << s;
  }
}

TEST(FullMethod, DoesNotChangeWhenQueriesAndKeysAreRotatedTogether) {
  HeadRows queries = some_queries(4, 5);
  HeadRows keys = some_keys(4, 6);
  const double before = plasticity(queries, keys, with(Method::full));
  for (HeadRows* rows : {&queries, &keys}) {
    for (std::size_t i = 0; i < rows->size(); ++i) {
      for (const auto& [a, b, angle] : {std::tuple{0, 1, 0.7}, std::tuple{1, 3, -1.9}, std::tuple{2, 0, 2.4}}) {
        float& x = rows->vectors[i * 4 + static_cast<std::size_t>(a)];
        float& y = rows->vectors[i * 4 + static_cast<std::size_t>(b)];
        const double rotated = std::cos(angle) * x - std::sin(angle) * y;
        y = static_cast<float>(std::sin(angle) * x + std::cos(angle) * y);
        x = static_cast<float>(rotated);
      }
    }
  }
  EXPECT_NEAR(plasticity(queries, keys, with(Method::full)), before, 1e-6);  // single precision vectors
}

TEST(FullMethod, DoesNotChangeWhenQueriesAreScaled) {
  HeadRows queries = some_queries(4, 5);
  const HeadRows keys = some_keys(4, 6);
  const double before = plasticity(queries, keys, with(Method::full));
  for (float& value : queries.vectors) value *= 1024;  // a power of two: exact in single precision
  EXPECT_NEAR(plasticity(queries, keys, with(Method::full)), before, 1e-12);
}

TEST(Orientation, TakesMeanOverBucketsAndZeroAsPositive) {
  HeadRows keys;
  keys.width = 3;
  keys.bucket = {0, 0, 0, 5};
  keys.example = {1, 1, 1, 1};
  keys.position = {0, 1, 2, 60};
  // Component 0: bucket means 1 and -2, so negative, though three of four keys are positive.
  keys.vectors = {1, 2, 0, 1, 2, 0, 1, 2, 0, -2, -1, 0};
  EXPECT_EQ(orient_keys(KeptRows(keys), {}).orientation, (std::vector<double>{-1, 1, 1}));
}

TEST(HeadAnalysis, SubsamplesAsDefaultRngChoosesAndOrientsByAllKeys) {
  AnalysisOptions options;
  options.max_tokens_per_head = 50;
  options.seed = 3;
  const HeadRows keys = some_keys(4, 7);
  const OrientedKeys prepared = orient_keys(KeptRows(keys), options);
  const auto kept = NumpyGenerator(3).choice_without_replacement(keys.size(), 50);
  ASSERT_EQ(prepared.rows.view().size(), 50U);
  for (std::size_t i = 0; i < 50; ++i) EXPECT_EQ(prepared.rows.view().position[i], keys.position[kept[i]]);
  EXPECT_EQ(prepared.orientation, orient_keys(KeptRows(keys), {}).orientation);
  const HeadResult result = measure_head(head, KeptRows(some_queries(4, 8)), prepared, options).result;
  EXPECT_EQ(result.n_q_tokens, 50U);
  EXPECT_EQ(result.n_k_tokens, 50U);
}

TEST(HeadAnalysis, GivesEachHeadItsOwnPairs) {
  const HeadRows queries = some_queries(4, 8), keys = some_keys(4, 9);
  AnalysisOptions options;
  options.num_pairs_per_bucket = 5;
  const auto value = [&](const HeadId& id) { return analyze_head(id, queries, keys, options).plasticity.overall; };
  EXPECT_EQ(value({1, 2, 0}), value({1, 2, 0}));
  EXPECT_NE(value({1, 2, 0}), value({1, 3, 0}));
  EXPECT_NE(value({1, 2, 0}), value({2, 2, 0}));
  options.seed = 10007;
  const double shifted = value({0, 2, 0});
  options.seed = 379;
  const double shifted_head = value({1, 1, 0});
  options.seed = 0;
  EXPECT_EQ(value({1, 2, 0}), shifted);  // seed + 10007 layer + 379 q_head
  EXPECT_EQ(value({1, 2, 0}), shifted_head);
  options.seed = std::numeric_limits<std::uint64_t>::max();
  EXPECT_NE(value({1, 2, 0}), value({0, 0, 0}));  // past 2^64 and not wrapped to small numbers
}

TEST(HeadAnalysis, FormsNoPairsWithoutExamples) {
  HeadRows keys = some_keys(4, 7);
  keys.example.clear();
  const HeadResult result = analyze_head(head, some_queries(4, 8), keys, {});
  EXPECT_TRUE(std::isnan(result.plasticity.overall));
  EXPECT_TRUE(std::isnan(result.plasticity_error));
  EXPECT_TRUE(result.examples.empty());
  EXPECT_FALSE(result.plasticity.cells.empty());  // written, with no pairs
  for (const Cell& cell : result.plasticity.cells) EXPECT_EQ(cell.n_pairs, 0U);
  EXPECT_GT(result.position_r_squared, 0);
}

TEST(HeadAnalysis, HasNoErrorWithFewerThanThreeExamples) {
  NumpyGenerator generator(12);
  const HeadRows queries = random_rows(2, 40, 96, 24, 4, generator);
  const HeadRows keys = random_rows(2, 40, 96, 24, 4, generator);
  const HeadResult result = analyze_head(head, queries, keys, {});
  EXPECT_FALSE(std::isnan(result.plasticity.overall));
  EXPECT_TRUE(std::isnan(result.plasticity_error));
}

// The jackknife error estimates the spread of the value over new samples of documents. Averaged over many samples, it
// must agree with that spread within the accuracy of either.
TEST(HeadAnalysis, ErrorIsSpreadOverSamplesOfDocuments) {
  constexpr int samples = 120;
  std::vector<double> values, errors;
  for (std::uint64_t sample = 0; sample < samples; ++sample) {
    NumpyGenerator generator(500 + sample);
    HeadRows queries = random_rows(20, 16, 64, 16, 3, generator);
    const HeadRows keys = random_rows(20, 16, 64, 16, 3, generator);
    for (std::size_t i = 0; i < queries.size(); i += 16) {  // a shift for each document, and one for all
      const double shift = 0.6 * random_normal(generator);
      for (std::size_t j = i; j < i + 16; ++j) queries.vectors[3 * j + 1] += static_cast<float>(1 + shift);
    }
    const HeadResult result = analyze_head(head, queries, keys, with(Method::full));
    values.push_back(result.plasticity.overall);
    errors.push_back(result.plasticity_error);
  }
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / samples;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double spread = std::sqrt(squares / (samples - 1));
  const double error = std::accumulate(errors.begin(), errors.end(), 0.0) / samples;
  EXPECT_GT(error / spread, 0.75);
  EXPECT_LT(error / spread, 1.35);
}

TEST(HeadAnalysis, WorksOnOneRowOneComponentAndOneBucket) {
  HeadRows one;
  one.width = 1;
  one.bucket = {0};
  one.example = {4};
  one.position = {0};
  one.vectors = {2.5F};
  const HeadResult result = analyze_head(head, one, one, {});
  EXPECT_EQ(result.position_r_squared, 0);
  EXPECT_EQ(result.residual.ks_p, 1);
  EXPECT_EQ(result.component_weight, std::vector<double>{1});
  EXPECT_TRUE(std::isnan(result.plasticity.overall));
  EXPECT_TRUE(result.times.empty());
}

// Bucket 0 has triples but no cells; 7 has cells but no triples, since its queries see no keys of their example.
TEST(HeadAnalysis, JoinsPooledAndExactFiguresOfQueryBuckets) {
  HeadRows queries = some_queries(4, 1);
  const HeadRows keys = some_keys(4, 2);
  for (int i = 0; i < 2; ++i) {
    queries.bucket.push_back(7);
    queries.example.push_back(1);
    queries.position.push_back(190.0 + i);
    for (int c = 0; c < 4; ++c) queries.vectors.push_back(1.0F);
  }
  const Rotation rotation{RotaryLayout::half, {1.0, 0.1}, 1.0};
  const HeadResult pooled = analyze_head(head, queries, keys, {});
  const HeadResult result = analyze_head(head, queries, keys, {}, &rotation);
  ASSERT_EQ(pooled.times.size(), 4U);
  ASSERT_EQ(result.times.size(), 5U);

  EXPECT_EQ(result.times[0].query_bucket, 0);
  EXPECT_TRUE(std::isnan(result.times[0].plasticity));
  EXPECT_EQ(result.times[0].n_pairs, 0U);
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (queries.bucket[i] != 0) continue;
    sum += queries.position[i];
    ++count;
  }
  EXPECT_EQ(result.times[0].n_queries, count);
  EXPECT_NEAR(result.times[0].position, sum / static_cast<double>(count), 1e-12);

  std::size_t triples = 0;
  double total = 0;
  for (const TimePoint& time : result.times) {
    triples += time.n_triples;
    if (time.n_triples > 0) total += time.exact * static_cast<double>(time.n_triples);
  }
  EXPECT_EQ(triples, result.exact->n_triples);
  EXPECT_NEAR(total / static_cast<double>(triples), result.exact->overall, 1e-12);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(result.times[i + 1].query_bucket, pooled.times[i].query_bucket);
    EXPECT_EQ(result.times[i + 1].plasticity, pooled.times[i].plasticity);
    EXPECT_EQ(result.times[i].n_triples > 0, !std::isnan(result.times[i].exact_error));
    EXPECT_EQ(pooled.times[i].n_triples, 0U);
    EXPECT_TRUE(std::isnan(pooled.times[i].exact));
  }
  EXPECT_EQ(result.times[4].query_bucket, 7);
  EXPECT_EQ(result.times[4].n_triples, 0U);
  EXPECT_TRUE(std::isnan(result.times[4].exact));
}

TEST(HeadAnalysis, LeavesOutTheGroupsOfTheRunThatTheHeadHas) {
  const HeadRows queries = some_queries(4, 1);
  const HeadRows keys = some_keys(4, 2);
  const Rotation rotation{RotaryLayout::half, {1.0, 0.1}, 1.0};
  const OrientedKeys oriented = orient_keys(KeptRows(keys), {});
  const MeasuredHead own = measure_head(head, KeptRows(queries), oriented, {}, {.rotation = &rotation});
  const std::vector<std::uint64_t>& documents = own.result.examples;
  ASSERT_EQ(own.without_group.groups.size(), documents.size());
  // The reference documents are twice as many, so the head's own are in groups 0, 2, 4 and so on.
  std::vector<DocumentRange> reference;
  for (const std::uint64_t document : documents) reference.push_back({document, document + 1});
  const RunGroups groups(reference);
  const MeasuredHead of_run =
      measure_head(head, KeptRows(queries), oriented, {}, {.rotation = &rotation, .groups = &groups});
  ASSERT_EQ(of_run.without_group.groups.size(), documents.size());
  for (std::size_t i = 0; i < documents.size(); ++i) EXPECT_EQ(of_run.without_group.groups[i], 2 * i);
  EXPECT_EQ(of_run.without_group.exact, own.without_group.exact);
  EXPECT_EQ(of_run.without_group.overall, own.without_group.overall);
  EXPECT_FALSE(std::isnan(own.result.exact_error));
  EXPECT_EQ(of_run.result.exact_error, own.result.exact_error);
  EXPECT_EQ(of_run.result.plasticity_error, own.result.plasticity_error);
}

TEST(HeadAnalysis, OfAHeadWithTwoGroupsHasNoErrors) {
  const HeadRows queries = some_queries(4, 1);
  const OrientedKeys keys = orient_keys(KeptRows(some_keys(4, 2)), {});
  const std::uint64_t first = measure_head(head, KeptRows(queries), keys, {}).result.examples.front();
  // Group 0 holds the first document and each document whose number is a multiple of 3.
  const RunGroups groups({{first, first}, {first + 1000, first + 1001}});
  std::vector<std::size_t> present;
  for (const std::uint64_t id : distinct_examples(queries.example, keys.rows.view().example))
    present.push_back(groups.group_of(id));
  std::ranges::sort(present);
  const auto repeated = std::ranges::unique(present);
  present.erase(repeated.begin(), repeated.end());
  const MeasuredHead measured = measure_head(head, KeptRows(queries), keys, {}, {.groups = &groups});
  EXPECT_EQ(measured.without_group.groups, present.size() < 3 ? std::vector<std::size_t>() : present);
  EXPECT_EQ(std::isnan(measured.result.plasticity_error), present.size() < 3);
}

template <typename Function>
std::string message_of(Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
  return "no error";
}

TEST(HeadAnalysis, RefusesWhatDoesNotFit) {
  EXPECT_EQ(
      message_of([] { analyze_head(head, some_queries(4, 1), some_keys(6, 1), {}); }),
      "q vectors have 4 components, k vectors 6 (layer 1, q_head 2, k_head 0); both files must come from the same "
      "model");
  EXPECT_EQ(message_of([] { analyze_head(head, HeadRows{}, some_keys(6, 1), {}); }), "there are no queries");
  EXPECT_EQ(message_of([] { analyze_head(head, some_queries(4, 1), HeadRows{}, {}); }), "there are no keys");
  HeadRows ragged = some_queries(4, 1);
  ragged.vectors.pop_back();
  EXPECT_NE(message_of([&] { analyze_head(head, ragged, some_keys(4, 1), {}); }).find("differ in length"),
            std::string::npos);
}

}  // namespace
}  // namespace attention_plasticity

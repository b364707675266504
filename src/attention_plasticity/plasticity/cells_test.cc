#include "attention_plasticity/plasticity/cells.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "attention_plasticity/plasticity/key_buckets.h"
#include "attention_plasticity/plasticity/key_difference_kernel.h"
#include "attention_plasticity/plasticity/key_pairs.h"
#include "attention_plasticity/plasticity/query_model.h"
#include "attention_plasticity/plasticity/random_rows_testing.h"

namespace attention_plasticity {
namespace {

constexpr std::uint64_t seed = 3;

QueryRow captured(const HeadRows& queries) {
  return [&queries](std::size_t row, std::span<double> out) { std::ranges::copy(queries.row(row), out.begin()); };
}

LineFit lines_of(const HeadRows& queries, std::span<const std::size_t> rows) {
  LineMoments moments(queries.width);
  std::vector<double> vector(queries.width);
  for (const std::size_t row : rows) {
    captured(queries)(row, vector);
    moments.add(queries.position[row], vector);
  }
  return moments.finish();
}

LineFit lines_of(const HeadRows& queries) { return lines_of(queries, split_rows(queries.size(), {}, 0)[0]); }

// In the space of the captured vectors.
MeasuredPlasticity measure(const HeadRows& queries, const HeadRows& keys, const PooledSettings& settings,
                           const JackknifeGroups& groups = {}) {
  return measure_plasticity(queries, keys, PositionFrame(queries.width), lines_of(queries), settings, groups,
                            NumpyGenerator(seed));
}

HeadRows rows_in_buckets(const std::vector<std::int64_t>& bucket, const std::vector<double>& position) {
  NumpyGenerator generator(5);
  HeadRows rows{3, bucket, std::vector<std::uint64_t>(bucket.size(), 7), position, {}, {}};
  for (std::size_t i = 0; i < 3 * bucket.size(); ++i) {
    rows.vectors.push_back(static_cast<float>(random_normal(generator)));
  }
  return rows;
}

// Query buckets of 1, 3, 5 and 1 queries; key buckets with 3 and 6 pairs and one with a single key.
const HeadRows bucket_queries =
    rows_in_buckets({0, 1, 1, 1, 4, 4, 4, 4, 4, 5}, {0, 10, 11, 15, 40, 41, 42, 43, 49, 50});
const HeadRows bucket_keys = rows_in_buckets({0, 0, 0, 1, 1, 1, 1, 3}, {1, 2, 5, 10, 12, 13, 17, 30});

TEST(Cells, AverageOverPairsTimesAndHead) {
  const MeasuredPlasticity head = measure(bucket_queries, bucket_keys, {.method = Method::full});
  ASSERT_EQ(head.cells.size(), 4U);
  EXPECT_EQ(head.cells[0].n_pairs, 3U);
  EXPECT_EQ(head.cells[2].query_bucket, 4);
  EXPECT_EQ(head.cells[2].key_bucket, 1);
  EXPECT_EQ(head.cells[2].n_pairs, 6U);
  EXPECT_TRUE(std::isnan(head.cells[3].plasticity));
  EXPECT_EQ(head.cells[3].n_pairs, 0U);
  const double a = head.cells[0].plasticity, b = head.cells[1].plasticity, c = head.cells[2].plasticity;
  EXPECT_NEAR(head.overall, (3 * a + 5 * b + 5 * c) / 13, 1e-15);
  const auto overall = [](Weighting weighting) {
    return measure(bucket_queries, bucket_keys, {.method = Method::full, .weighting = weighting}).overall;
  };
  EXPECT_NEAR(overall(Weighting::pairs), (3 * a + 3 * b + 6 * c) / 12, 1e-15);
  EXPECT_NEAR(overall(Weighting::uniform), (a + b + c) / 3, 1e-15);

  ASSERT_EQ(head.times.size(), 2U);  // bucket 0 takes no part, bucket 5 has one query only
  EXPECT_EQ(head.times[0].position, 12);
  EXPECT_EQ(head.times[1].position, 43);
  EXPECT_EQ(head.times[1].n_queries, 5U);
  EXPECT_EQ(head.times[1].n_pairs, 9U);
  EXPECT_NEAR(head.times[1].plasticity, (3 * b + 6 * c) / 9, 1e-15);
}

TEST(Cells, OfSingleQueryCountForDiagonalOnly) {
  const MeasuredPlasticity head = measure(bucket_queries, bucket_keys, {.method = Method::diagonal});
  ASSERT_EQ(head.times.size(), 3U);
  EXPECT_EQ(head.times[2].n_queries, 1U);
}

TEST(Cells, ReachAsFarAsTheWindow) {
  HeadRows queries = bucket_queries;
  queries.window = 20;
  const MeasuredPlasticity head = measure(queries, bucket_keys, {.method = Method::full});
  ASSERT_EQ(head.cells.size(), 2U);
  EXPECT_EQ(head.cells[0].key_bucket, 0);  // of query bucket 1
  EXPECT_EQ(head.cells[1].key_bucket, 3);  // of query bucket 4
}

TEST(Cells, WithoutPairsGiveNoValue) {
  const HeadRows keys = rows_in_buckets({0}, {2});
  const MeasuredPlasticity head = measure(bucket_queries, keys, {});
  EXPECT_EQ(head.cells.size(), 2U);
  EXPECT_TRUE(std::isnan(head.overall));
  EXPECT_TRUE(std::isnan(head.times.at(0).plasticity));
}

// The definition: models of the queries that are not left out, and the pairs that the samplers draw for all of them.
double plain_overall(const HeadRows& queries, const HeadRows& keys, const PooledSettings& settings,
                     const JackknifeGroups& groups, LeftOut left_out) {
  std::vector<std::size_t> rest;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (left_out != groups.of_query[i]) rest.push_back(i);
  }
  const PositionFrame frame(queries.width);
  const GroupedLines lines(settings.method, lines_of(queries, rest), frame, {}, queries.position, captured(queries));
  const KeyBuckets buckets = group_by_bucket(keys);
  const BucketPairSampler of_bucket(keys, buckets);
  const LocalPairSampler local(queries, keys, buckets, settings.max_relative_distance);
  NumpyGenerator generator(seed);
  double sum = 0, total = 0;
  for (std::int64_t bucket = 1; bucket <= std::ranges::max(queries.bucket); ++bucket) {
    GroupedRows rows(1);
    std::ranges::copy_if(rest, std::back_inserter(rows[0]), [&](auto row) { return queries.bucket[row] == bucket; });
    const QueryModel model(settings.method, frame, lines, rows, queries.position, captured(queries));
    for (const std::int64_t key_bucket : visible_key_buckets(buckets, bucket, 0, {}, settings.window_unit)) {
      std::vector<KeyPair> pairs = settings.sampler == Sampler::bucket
                                       ? of_bucket.draw(key_bucket, settings.num_pairs, generator)
                                       : local.draw(key_bucket, settings.num_pairs, generator);
      std::erase_if(pairs, [&](const KeyPair& pair) { return left_out == groups.of_key[pair.first]; });
      Matrix differences(pairs.size(), keys.width);
      write_differences(keys, pairs, differences);
      double mean = 0;
      for (const double value : model.pairs(differences).plasticity())
        mean += value / static_cast<double>(pairs.size());
      const double weight = settings.weighting == Weighting::queries ? static_cast<double>(rows[0].size())
                            : settings.weighting == Weighting::pairs ? static_cast<double>(pairs.size())
                                                                     : 1.0;
      sum += weight * mean;
      total += weight;
    }
  }
  return sum / total;
}

class CellsOf : public testing::TestWithParam<std::tuple<Method, Weighting, Sampler>> {};

TEST_P(CellsOf, HeadAreThoseOfTheDefinitionWithoutAnyGroup) {
  const auto [method, weighting, sampler] = GetParam();
  const PooledSettings settings{
      .method = method, .sampler = sampler, .weighting = weighting, .num_pairs = 30, .max_relative_distance = 0.3};
  NumpyGenerator generator(6);
  const HeadRows queries = random_rows(6, 12, 80, 20, 3, generator);
  const HeadRows keys = random_rows(6, 16, 80, 20, 3, generator);
  JackknifeGroups groups{3, {}, {}};
  for (const std::uint64_t example : queries.example) groups.of_query.push_back(example % 3);
  for (const std::uint64_t example : keys.example) groups.of_key.push_back(example % 3);
  const MeasuredPlasticity head = measure(queries, keys, settings, groups);
  EXPECT_NEAR(head.overall, plain_overall(queries, keys, settings, groups, {}), 1e-13);
  ASSERT_EQ(head.without_group.size(), 3U);
  for (std::size_t g = 0; g < 3; ++g) {
    EXPECT_NEAR(head.without_group[g], plain_overall(queries, keys, settings, groups, g), 1e-13) << g;
  }
}

INSTANTIATE_TEST_SUITE_P(All, CellsOf,
                         testing::Combine(testing::Values(Method::positional, Method::full, Method::diagonal),
                                          testing::Values(Weighting::queries, Weighting::pairs, Weighting::uniform),
                                          testing::Values(Sampler::bucket, Sampler::local)));

}  // namespace
}  // namespace attention_plasticity

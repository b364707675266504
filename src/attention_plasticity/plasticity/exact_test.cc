#include "attention_plasticity/plasticity/exact.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "attention_plasticity/plasticity/random_rows_testing.h"
#include "attention_plasticity/plasticity/triples.h"
#include "attention_plasticity/plasticity/win_probability.h"
#include "attention_plasticity/stats/jackknife.h"

namespace attention_plasticity {
namespace {

constexpr std::size_t width = 6;

// Four of six components are rotated.
const Rotation some_rotation{RotaryLayout::half, {1.0, 0.1}, 1.25};

ExactSettings settings(const Rotation& rotation, std::size_t triples = 300) {
  return {rotation, Vectors::post, WindowUnit::tokens, triples, 64};
}

// Random in the un-rotated frame around `mean`, then rotated to its position as a model would.
HeadRows rotated_rows(std::size_t examples, const std::vector<double>& mean, double spread, const Rotation& rotation,
                      std::uint64_t seed) {
  NumpyGenerator generator(seed);
  HeadRows rows = random_rows(examples, 12, 64, 16, mean.size(), generator);
  std::vector<double> vector(mean.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t c = 0; c < mean.size(); ++c) vector[c] = mean[c] + spread * random_normal(generator);
    rotation.rotate(vector, rows.position[i]);
    for (std::size_t c = 0; c < mean.size(); ++c) rows.vectors[i * mean.size() + c] = static_cast<float>(vector[c]);
  }
  return rows;
}

const std::vector<double> some_mean{0.4, -0.3, 0.2, 0.6, -0.5, 0.1};
const std::vector<double> no_mean(width, 0.0);

HeadRows some_queries(std::uint64_t seed = 1) { return rotated_rows(5, some_mean, 1, some_rotation, seed); }
HeadRows some_keys(std::uint64_t seed = 2) { return rotated_rows(5, no_mean, 1, some_rotation, seed); }

// The group of each row: examples are 100, 107, 114, ...
std::vector<std::size_t> groups_of(const HeadRows& rows) {
  std::vector<std::size_t> group;
  for (const std::uint64_t example : rows.example) group.push_back((example - 100) / 7);
  return group;
}

MeasuredExact measure(const HeadRows& queries, const HeadRows& keys, const ExactSettings& how) {
  return measure_exact_plasticity(queries, keys, how, {}, NumpyGenerator(5));
}

// The definition in plain loops, for the queries that a predicate selects.
struct Plain {
  std::vector<std::vector<double>> unrotated;
  std::vector<std::vector<double>> directions;
  std::vector<Triple> triples;
  std::vector<std::size_t> picked;

  Plain(const HeadRows& queries, const HeadRows& keys, const ExactSettings& how) {
    NumpyGenerator generator(5);
    triples = draw_triples(queries, keys, how.window_unit, how.num_triples, generator);
    picked = generator.choice_without_replacement(queries.size(), std::min(how.empirical_queries, queries.size()));
    for (std::size_t i = 0; i < queries.size(); ++i) {
      unrotated.emplace_back(queries.row(i).begin(), queries.row(i).end());
      how.rotation.rotate(unrotated.back(), -queries.position[i]);
    }
    for (const Triple& triple : triples) {
      std::vector<double>& u = directions.emplace_back();
      for (std::size_t c = 0; c < keys.width; ++c) {
        u.push_back(static_cast<double>(keys.row(triple.first)[c]) - static_cast<double>(keys.row(triple.second)[c]));
      }
      how.rotation.rotate(u, -queries.position[triple.query]);
    }
  }

  static double along(const std::vector<double>& u, const std::vector<double>& q) {
    double sum = 0;
    for (std::size_t c = 0; c < u.size(); ++c) sum += u[c] * q[c];
    return sum;
  }

  // Mean and variance of u·q̃ over the queries for which `counts` is true.
  template <typename Counts>
  std::pair<double, double> moments(const std::vector<double>& u, Counts counts) const {
    std::vector<double> values;
    for (std::size_t i = 0; i < unrotated.size(); ++i) {
      if (counts(i)) values.push_back(along(u, unrotated[i]));
    }
    double mean = 0;
    for (const double value : values) mean += value / static_cast<double>(values.size());
    double variance = 0;
    for (const double value : values) variance += (value - mean) * (value - mean);
    return {mean, variance / static_cast<double>(values.size() - 1)};
  }

  template <typename Counts>
  double overall(Counts counts) const {
    return mean_over(counts, counts);
  }

  // The mean over the triples of some queries, modelled from others.
  template <typename OfQuery, typename Counts>
  double mean_over(OfQuery of_query, Counts counts) const {
    double sum = 0;
    double n = 0;
    for (std::size_t i = 0; i < triples.size(); ++i) {
      if (!of_query(triples[i].query)) continue;
      const auto [mean, variance] = moments(directions[i], counts);
      sum += plasticity(mean, variance);
      n += 1;
    }
    return sum / n;
  }

  double empirical() const {
    double sum = 0;
    const auto n = static_cast<double>(picked.size());
    for (const auto& u : directions) {
      double wins = 0;
      for (const std::size_t i : picked) wins += along(u, unrotated[i]) > 0 ? 1 : 0;
      sum += 4 * (wins / n) * (1 - wins / n) * n / (n - 1);
    }
    return sum / static_cast<double>(directions.size());
  }
};

TEST(ExactPlasticity, OfAQueryBucketIsTheMeanOfItsTriples) {
  const HeadRows queries = some_queries();
  const HeadRows keys = some_keys();
  const ExactSettings how = settings(some_rotation, 600);
  const auto group = groups_of(queries);
  const MeasuredExact exact = measure_exact_plasticity(queries, keys, how, {5, group, {}}, NumpyGenerator(5));
  const Plain plain(queries, keys, how);
  ASSERT_EQ(exact.times.size(), 4U);
  for (std::size_t b = 0; b < exact.times.size(); ++b) {
    const ExactTime& time = exact.times[b];
    EXPECT_EQ(time.query_bucket, static_cast<std::int64_t>(b));
    const auto in_bucket = [&](std::size_t query) { return queries.bucket[query] == time.query_bucket; };
    EXPECT_EQ(time.n_triples,
              std::ranges::count_if(plain.triples, [&](const Triple& triple) { return in_bucket(triple.query); }));
    EXPECT_NEAR(time.plasticity, plain.mean_over(in_bucket, [](std::size_t) { return true; }), 1e-12);
    std::vector<double> without;
    for (std::size_t g = 0; g < 5; ++g) {
      without.push_back(plain.mean_over([&](std::size_t query) { return in_bucket(query) && group[query] != g; },
                                        [&](std::size_t query) { return group[query] != g; }));
    }
    EXPECT_NEAR(time.error, jackknife_error(without), 1e-12);
  }
  EXPECT_TRUE(std::isnan(measure(queries, keys, how).times[0].error));  // no groups
}

TEST(ExactPlasticity, OfAQueryBucketHasNoErrorWhenAGroupLeavesNoTriple) {
  HeadRows queries = some_queries();
  const auto group = groups_of(queries);
  for (std::size_t i = 0; i < queries.size(); ++i) queries.bucket[i] = group[i] == 2 ? 9 : queries.bucket[i];
  const MeasuredExact exact =
      measure_exact_plasticity(queries, some_keys(), settings(some_rotation, 600), {5, group, {}}, NumpyGenerator(5));
  ASSERT_EQ(exact.times.size(), 5U);
  for (const ExactTime& time : exact.times) EXPECT_EQ(std::isnan(time.error), time.query_bucket == 9);
}

TEST(ExactPlasticity, FollowsTheDefinition) {
  const HeadRows queries = some_queries();
  const HeadRows keys = some_keys();
  const ExactSettings how = settings(some_rotation, 600);
  const std::vector<std::size_t> group = groups_of(queries);
  const MeasuredExact exact = measure_exact_plasticity(queries, keys, how, {5, group, {}}, NumpyGenerator(5));
  const Plain plain(queries, keys, how);
  const auto all = [](std::size_t) { return true; };
  EXPECT_NEAR(exact.overall, plain.overall(all), 1e-13);
  EXPECT_NEAR(exact.empirical, plain.empirical(), 1e-13);
  EXPECT_EQ(exact.n_triples, 600U);
  double fixed = 0;
  double spread = 0;
  for (const auto& u : plain.directions) {
    const auto [mean, variance] = plain.moments(u, all);
    fixed += std::abs(mean) / std::sqrt(6) / 600;
    spread += std::sqrt(variance) / std::sqrt(6) / 600;
  }
  EXPECT_NEAR(exact.logit_fixed, fixed, 1e-13);
  EXPECT_NEAR(exact.logit_spread, spread, 1e-13);
  ASSERT_EQ(exact.without_group.size(), 5U);
  for (std::size_t g = 0; g < 5; ++g) {
    EXPECT_NEAR(exact.without_group[g], plain.overall([&](std::size_t i) { return group[i] != g; }), 1e-13);
  }
}

TEST(ExactPlasticity, SortsTriplesByTheDistanceOfBothKeys) {
  const HeadRows queries = some_queries();
  const HeadRows keys = some_keys();
  const ExactSettings how = settings(some_rotation);
  const MeasuredExact exact = measure(queries, keys, how);
  std::map<std::pair<int, int>, std::size_t> count;
  for (const Triple& triple : Plain(queries, keys, how).triples) {
    const auto bin = [&](std::size_t key) {
      return static_cast<int>(std::floor(std::log2(1 + queries.position[triple.query] - keys.position[key])));
    };
    const auto [near, far] = std::minmax({bin(triple.first), bin(triple.second)});
    ++count[{near, far}];
  }
  ASSERT_EQ(exact.distances.size(), count.size());
  double sum = 0;
  auto expected = count.begin();
  for (const DistanceBin& bin : exact.distances) {
    EXPECT_EQ(std::pair(bin.near_bin, bin.far_bin), expected->first);
    EXPECT_EQ(bin.n_triples, (expected++)->second);
    sum += bin.plasticity * static_cast<double>(bin.n_triples);
  }
  EXPECT_NEAR(sum / 300, exact.overall, 1e-13);
}

// Relative positions are all that matter.
RC_GTEST_PROP(ExactPlasticity, IsUnchangedWhenAnExampleMovesAlong, (std::uint16_t seed)) {
  HeadRows queries = some_queries(seed);
  HeadRows keys = some_keys(seed + 1U);
  const double before = measure(queries, keys, settings(some_rotation)).overall;
  const int offset = *rc::gen::inRange(1, 5000);
  const auto move = [&](HeadRows& rows) {
    std::vector<double> vector(rows.width);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows.example[i] != 107) continue;
      rows.position[i] += offset;
      std::ranges::copy(rows.row(i), vector.begin());
      some_rotation.rotate(vector, offset);
      for (std::size_t c = 0; c < rows.width; ++c) rows.vectors[i * rows.width + c] = static_cast<float>(vector[c]);
    }
  };
  move(queries);
  move(keys);
  RC_ASSERT(std::abs(measure(queries, keys, settings(some_rotation)).overall - before) < 1e-6);
}

TEST(ExactPlasticity, IsZeroWhenTheQueryIsFixedInTheUnrotatedFrame) {
  const HeadRows queries = rotated_rows(5, some_mean, 0, some_rotation, 1);
  const MeasuredExact exact = measure(queries, some_keys(), settings(some_rotation));
  EXPECT_LT(exact.overall, 1e-12);
  EXPECT_LT(exact.empirical, 1e-12);
  EXPECT_LT(exact.logit_spread, 1e-6);
  EXPECT_GT(exact.logit_fixed, 0.1);
}

TEST(ExactPlasticity, IsOneWhenQueriesHaveNoMean) {
  HeadRows queries = rotated_rows(5, no_mean, 1, some_rotation, 1);
  const HeadRows half = queries;
  for (std::size_t i = 0; i < half.size(); ++i) {
    queries.bucket.push_back(half.bucket[i]);
    queries.example.push_back(half.example[i]);
    queries.position.push_back(half.position[i]);
    for (const float x : half.row(i)) queries.vectors.push_back(-x);
  }
  EXPECT_NEAR(measure(queries, some_keys(), settings(some_rotation)).overall, 1, 1e-12);
  const HeadRows independent = rotated_rows(60, no_mean, 1, some_rotation, 3);
  const HeadRows keys = rotated_rows(60, no_mean, 1, some_rotation, 4);
  EXPECT_NEAR(measure(independent, keys, settings(some_rotation, 2000)).overall, 1, 0.01);
}

TEST(ExactPlasticity, OfGaussianQueriesIsWhatCountingFinds) {
  const HeadRows queries = rotated_rows(80, some_mean, 1, some_rotation, 11);
  const HeadRows keys = rotated_rows(80, no_mean, 1, some_rotation, 12);
  ExactSettings how = settings(some_rotation, 2000);
  how.empirical_queries = 900;
  const MeasuredExact exact = measure(queries, keys, how);
  EXPECT_NEAR(exact.empirical, exact.overall, 0.005);
  EXPECT_LT(exact.overall, 0.95);
}

// The pooled view cannot tell these two: both have queries in all directions.
TEST(ExactPlasticity, IsNotFooledByTheRotationItself) {
  const std::vector<double> strong{4, 4, 0, 0, 0, 0};
  const HeadRows recency = rotated_rows(30, strong, 0.1, some_rotation, 5);
  const HeadRows keys = rotated_rows(30, strong, 0.1, some_rotation, 6);
  EXPECT_LT(measure(recency, keys, settings(some_rotation)).overall, 0.1);
  const Rotation none;
  EXPECT_GT(measure(recency, keys, settings(none)).overall, 0.5);
}

class Captured : public testing::TestWithParam<RotaryLayout> {};

// What a model does to vectors captured before its embedding: rotate and scale.
TEST_P(Captured, BeforeRotationGivesTheSameAsAfter) {
  const Rotation rotation{GetParam(), {0.7, 0.02}, 1.3};
  NumpyGenerator generator(4);
  const HeadRows queries = random_rows(5, 12, 64, 16, width, generator);
  const HeadRows keys = random_rows(5, 12, 64, 16, width, generator);
  const auto embed = [&](HeadRows rows) {
    std::vector<double> vector(width);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::ranges::copy(rows.row(i), vector.begin());
      rotation.rotate(vector, rows.position[i]);
      for (std::size_t c = 0; c < rotation.dim(); ++c) vector[c] *= rotation.attention_factor;
      for (std::size_t c = 0; c < width; ++c) rows.vectors[i * width + c] = static_cast<float>(vector[c]);
    }
    return rows;
  };
  ExactSettings how = settings(rotation);
  const MeasuredExact post = measure(embed(queries), embed(keys), how);
  how.vectors = Vectors::pre;
  const MeasuredExact pre = measure(queries, keys, how);
  EXPECT_NEAR(pre.overall, post.overall, 1e-6);
  EXPECT_NEAR(pre.logit_fixed, post.logit_fixed, 1e-6);
  EXPECT_NEAR(pre.logit_spread, post.logit_spread, 1e-6);
  EXPECT_NEAR(pre.empirical, post.empirical, 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Layouts, Captured, testing::Values(RotaryLayout::half, RotaryLayout::interleaved));

TEST(ExactPlasticity, CountsATieAsHalf) {
  HeadRows queries{1, {0, 0}, {3, 3}, {5, 6}, {1.F, 2.F}, {}};
  HeadRows keys{1, {0, 0}, {3, 3}, {1, 2}, {4.F, 4.F}, {}};
  const Rotation none;
  const MeasuredExact exact = measure(queries, keys, settings(none, 10));
  EXPECT_EQ(exact.overall, 1);
  EXPECT_EQ(exact.empirical, 2);  // 4 · ½ · ½ · M/(M − 1) with M = 2
  keys.vectors[1] = 3.F;
  queries.vectors[1] = 1.F;
  EXPECT_EQ(measure(queries, keys, settings(none, 10)).overall, 0);
  EXPECT_EQ(measure(queries, keys, settings(none, 10)).empirical, 0);
}

TEST(ExactPlasticity, IsEmptyWhereItDoesNotExist) {
  const HeadRows queries = some_queries();
  HeadRows keys = some_keys();
  ExactSettings how = settings(some_rotation);
  how.empirical_queries = 1;
  EXPECT_TRUE(std::isnan(measure(queries, keys, how).empirical));
  how.empirical_queries = 0;
  EXPECT_TRUE(std::isnan(measure(queries, keys, how).empirical));
  EXPECT_FALSE(std::isnan(measure(queries, keys, how).overall));

  for (double& position : keys.position) position += 1000;
  const MeasuredExact unseen = measure(queries, keys, settings(some_rotation));
  EXPECT_TRUE(std::isnan(unseen.overall));
  EXPECT_TRUE(std::isnan(unseen.empirical));
  EXPECT_TRUE(std::isnan(unseen.logit_fixed));
  EXPECT_EQ(unseen.n_triples, 0U);
  EXPECT_TRUE(unseen.distances.empty());

  const HeadRows one{1, {0}, {3}, {5}, {1.F}, {}};
  const HeadRows two{1, {0, 0}, {3, 3}, {1, 2}, {4.F, 5.F}, {}};
  const MeasuredExact lonely =
      measure_exact_plasticity(one, two, settings(Rotation{}), {3, {0}, {}}, NumpyGenerator(5));
  EXPECT_TRUE(std::isnan(lonely.overall));
  EXPECT_EQ(lonely.n_triples, 0U);
  EXPECT_EQ(lonely.without_group.size(), 3U);
}

TEST(ExactPlasticity, HasNoValueWithoutAGroupThatLeavesTooFewQueries) {
  const HeadRows queries{1, {0, 0, 0}, {3, 3, 4}, {5, 6, 7}, {1.F, 2.F, 3.F}, {}};
  const HeadRows keys{1, {0, 0, 0, 0}, {3, 3, 4, 4}, {1, 2, 1, 2}, {4.F, 5.F, 6.F, 8.F}, {}};
  const std::vector<std::size_t> group{0, 0, 1};
  const Rotation none;
  const MeasuredExact exact =
      measure_exact_plasticity(queries, keys, settings(none), {2, group, {}}, NumpyGenerator(5));
  EXPECT_TRUE(std::isnan(exact.without_group[0]));
  EXPECT_FALSE(std::isnan(exact.without_group[1]));
}

// Documents shift the queries of a head together, so rows of one document are not independent draws.
TEST(ExactPlasticity, HasAnErrorThatCoversTheMean) {
  constexpr int dumps = 100;
  constexpr std::size_t examples = 20;
  std::vector<MeasuredExact> measured;
  double mean = 0;
  for (std::uint64_t dump = 0; dump < dumps; ++dump) {
    NumpyGenerator generator(1000 + dump);
    HeadRows queries = rotated_rows(examples, {0.5, 0.2, -0.4, 0.3}, 0.6, Rotation{}, 2 * dump);
    const HeadRows keys = rotated_rows(examples, {0, 0, 0, 0}, 1, Rotation{}, 2 * dump + 1);
    for (std::size_t example = 0; example < examples; ++example) {
      std::vector<float> shift(4);
      for (float& x : shift) x = static_cast<float>(0.5 * random_normal(generator));
      for (std::size_t i = 0; i < queries.size(); ++i) {
        if (queries.example[i] != 100 + 7 * example) continue;
        for (std::size_t c = 0; c < 4; ++c) queries.vectors[4 * i + c] += shift[c];
      }
    }
    measured.push_back(measure_exact_plasticity(queries, keys, settings(Rotation{}, 400),
                                                {examples, groups_of(queries), {}}, NumpyGenerator(dump)));
    mean += measured.back().overall / dumps;
  }
  int covered = 0;
  for (const MeasuredExact& exact : measured) {
    covered += std::abs(exact.overall - mean) <= 1.96 * jackknife_error(exact.without_group) ? 1 : 0;
  }
  EXPECT_GE(covered, 90);
  EXPECT_LT(covered, 100);
}

}  // namespace
}  // namespace attention_plasticity

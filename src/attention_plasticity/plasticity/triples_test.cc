#include "attention_plasticity/plasticity/triples.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "attention_plasticity/plasticity/random_rows_testing.h"

namespace attention_plasticity {
namespace {

using Rows = std::tuple<std::size_t, std::size_t, std::size_t>;

Rows as_tuple(const Triple& triple) { return {triple.query, triple.first, triple.second}; }

bool sees(const HeadRows& queries, const HeadRows& keys, WindowUnit unit, std::size_t q, std::size_t k) {
  const double distance = queries.position[q] - keys.position[k];
  if (queries.example[q] != keys.example[k] || distance < 0) return false;
  if (!queries.window) return true;
  if (unit == WindowUnit::tokens) return distance < *queries.window;
  return keys.bucket[k] >= queries.bucket[q] - std::max<std::int64_t>(1, static_cast<std::int64_t>(*queries.window));
}

// The definition, without regard to speed.
std::vector<Rows> plain_triples(const HeadRows& queries, const HeadRows& keys, WindowUnit unit, std::size_t count,
                                NumpyGenerator& generator) {
  const auto seen_by = [&](std::size_t q) {
    std::vector<std::size_t> seen;
    for (std::size_t k = 0; k < keys.size(); ++k) {
      if (sees(queries, keys, unit, q, k)) seen.push_back(k);
    }
    return seen;
  };
  const auto draw = [&](const std::vector<double>& weight) {
    double total = 0;
    for (const double w : weight) total += w;
    const double at = generator.random() * total;
    double sum = 0;
    for (std::size_t i = 0; i < weight.size(); ++i) {
      if ((sum += weight[i]) > at) return i;
    }
    return weight.size() - 1;
  };
  std::vector<std::size_t> usable;
  for (std::size_t q = 0; q < queries.size(); ++q) {
    if (seen_by(q).size() >= 2) usable.push_back(q);
  }
  std::vector<Rows> triples;
  for (std::size_t i = 0; i < count && !usable.empty(); ++i) {
    const std::size_t q = usable[generator.integers(usable.size())];
    const std::vector<std::size_t> seen = seen_by(q);
    std::vector<double> weight;
    for (const std::size_t k : seen) weight.push_back(1 / (1 + queries.position[q] - keys.position[k]));
    const std::size_t first = draw(weight);
    weight[first] = 0;
    triples.emplace_back(q, seen[first], seen[draw(weight)]);
  }
  return triples;
}

struct Material {
  HeadRows queries;
  HeadRows keys;
};

Material random_material(std::uint64_t seed) {
  NumpyGenerator generator(seed);
  const std::size_t length = 4 + generator.integers(60);
  const std::size_t examples = 1 + generator.integers(4);
  Material material;
  material.queries = random_rows(examples, 1 + generator.integers(length), length, 8, 1, generator);
  material.keys = random_rows(examples, 1 + generator.integers(length), length, 8, 1, generator);
  return material;
}

RC_GTEST_PROP(Triples, FollowTheDefinition, (std::uint32_t seed)) {
  auto [queries, keys] = random_material(seed);
  const auto unit = *rc::gen::element(WindowUnit::tokens, WindowUnit::buckets);
  const int window = *rc::gen::inRange(0, 40);
  if (window > 0) queries.window = window;
  NumpyGenerator ours(seed);
  NumpyGenerator plain(seed);
  std::vector<Rows> drawn;
  for (const Triple& triple : draw_triples(queries, keys, unit, 50, ours)) drawn.push_back(as_tuple(triple));
  RC_ASSERT(drawn == plain_triples(queries, keys, unit, 50, plain));
  RC_ASSERT(ours.raw() == plain.raw());
}

TEST(Triples, StayInExampleWindowAndPast) {
  auto [queries, keys] = random_material(3);
  queries.window = 6;
  NumpyGenerator generator(1);
  const std::vector<Triple> triples = draw_triples(queries, keys, WindowUnit::tokens, 500, generator);
  ASSERT_EQ(triples.size(), 500U);
  for (const Triple& triple : triples) {
    EXPECT_NE(triple.first, triple.second);
    EXPECT_TRUE(sees(queries, keys, WindowUnit::tokens, triple.query, triple.first));
    EXPECT_TRUE(sees(queries, keys, WindowUnit::tokens, triple.query, triple.second));
  }
}

// Keys at distances 0, 1 and 3 weigh 1, 1/2 and 1/4: 4/7, 2/7 and 1/7 of the first draws.
TEST(Triples, DrawNearKeysMoreOften) {
  HeadRows queries{1, {0}, {5}, {10}, {0.F}, {}};
  HeadRows keys{1, {0, 0, 0, 0}, {5, 5, 5, 5}, {7, 9, 10, 11}, {0.F, 0.F, 0.F, 0.F}, {}};
  NumpyGenerator generator(8);
  constexpr std::size_t n = 70'000;
  std::map<std::size_t, double> first;
  std::map<std::size_t, double> second_after_nearest;
  for (const Triple& triple : draw_triples(queries, keys, WindowUnit::tokens, n, generator)) {
    ++first[triple.first];
    if (triple.first == 2) ++second_after_nearest[triple.second];
  }
  EXPECT_NEAR(first[0], n / 7.0, 400);
  EXPECT_NEAR(first[1], 2 * n / 7.0, 500);
  EXPECT_NEAR(first[2], 4 * n / 7.0, 550);
  EXPECT_EQ(first.size(), 3U);
  EXPECT_NEAR(second_after_nearest[1] / second_after_nearest[0], 2, 0.06);
}

TEST(Triples, AreNoneWithoutAQueryThatSeesTwoKeys) {
  const HeadRows queries{1, {0, 0}, {5, 6}, {10, 10}, {0.F, 0.F}, {}};
  const HeadRows keys{1, {0, 0, 0}, {5, 5, 7}, {7, 11, 3}, {0.F, 0.F, 0.F}, {}};
  NumpyGenerator generator(8);
  EXPECT_TRUE(draw_triples(queries, keys, WindowUnit::tokens, 10, generator).empty());
  EXPECT_EQ(generator.raw(), NumpyGenerator(8).raw());
}

}  // namespace
}  // namespace attention_plasticity

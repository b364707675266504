#include "attention_plasticity/plasticity/key_pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "attention_plasticity/plasticity/random_rows_testing.h"

namespace attention_plasticity {
namespace {

std::size_t pairs_within(const HeadRows& keys, std::int64_t bucket) {
  std::size_t pairs = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      pairs += keys.bucket[i] == bucket && keys.bucket[j] == bucket && keys.example[i] == keys.example[j];
    }
  }
  return pairs;
}

TEST(BucketPairs, JoinDifferentKeysOfOneExampleAndBucket) {
  NumpyGenerator generator(1);
  const HeadRows keys = random_rows(5, 20, 100, 25, 1, generator);
  const KeyBuckets buckets = group_by_bucket(keys);
  const BucketPairSampler sampler(keys, buckets);
  for (const auto& [bucket, rows] : buckets) {
    const auto pairs = sampler.draw(bucket, 1000, generator);
    EXPECT_EQ(pairs.size(), pairs_within(keys, bucket));  // below 1000
    for (const KeyPair& pair : pairs) {
      EXPECT_NE(pair.first, pair.second);
      EXPECT_EQ(keys.example[pair.first], keys.example[pair.second]);
      EXPECT_EQ(keys.bucket[pair.first], bucket);
      EXPECT_EQ(keys.bucket[pair.second], bucket);
    }
    EXPECT_EQ(sampler.draw(bucket, 3, generator).size(), 3U);
  }
}

// Examples of 2, 3 and 5 keys: 1 + 3 + 10 pairs, each drawn with probability 1/14, whatever the example's size.
TEST(BucketPairs, AreEquallyLikely) {
  HeadRows keys;
  for (const std::uint64_t example : {0, 1, 2, 0, 1, 2, 1, 2, 2, 2}) {
    keys.example.push_back(example);
    keys.bucket.push_back(0);
    keys.position.push_back(static_cast<double>(keys.position.size()));
  }
  const BucketPairSampler sampler(keys, group_by_bucket(keys));
  NumpyGenerator generator(7);
  std::map<std::pair<std::size_t, std::size_t>, int> seen;
  constexpr int rounds = 2000;
  for (int round = 0; round < rounds; ++round) {
    for (const KeyPair& pair : sampler.draw(0, 100, generator)) ++seen[std::minmax(pair.first, pair.second)];
  }
  ASSERT_EQ(seen.size(), 14U);
  for (const auto& [pair, count] : seen) EXPECT_NEAR(count, rounds, 5 * std::sqrt(rounds));
}

TEST(BucketPairs, AreNoneWhereNoExampleHasTwoKeys) {
  HeadRows keys;
  keys.example = {1, 2, 3};
  keys.bucket = {0, 0, 0};
  keys.position = {0, 1, 2};
  const BucketPairSampler sampler(keys, group_by_bucket(keys));
  NumpyGenerator generator(0);
  EXPECT_TRUE(sampler.draw(0, 10, generator).empty());
  EXPECT_TRUE(sampler.draw(5, 10, generator).empty());
  EXPECT_EQ(generator.raw(), NumpyGenerator(0).raw());  // nothing was drawn
}

TEST(LocalPairs, StayNearAndNotInLaterBucket) {
  NumpyGenerator generator(2);
  const HeadRows queries = random_rows(4, 10, 200, 40, 1, generator);
  const HeadRows keys = random_rows(4, 60, 200, 40, 1, generator);
  const KeyBuckets buckets = group_by_bucket(keys);
  const LocalPairSampler sampler(queries, keys, buckets, 0.05);
  std::map<std::uint64_t, double> last;
  for (const HeadRows* rows : {&queries, &keys}) {
    for (std::size_t i = 0; i < rows->size(); ++i)
      last[rows->example[i]] = std::max(last[rows->example[i]], rows->position[i]);
  }
  for (const auto& [bucket, rows] : buckets) {
    std::set<bool> order;
    for (const KeyPair& pair : sampler.draw(bucket, 300, generator)) {
      EXPECT_NE(pair.first, pair.second);
      EXPECT_EQ(keys.example[pair.first], keys.example[pair.second]);
      const double reach = std::max(1.0, std::floor(0.05 * (last[keys.example[pair.first]] + 1)));
      EXPECT_LE(std::abs(keys.position[pair.first] - keys.position[pair.second]), reach);
      EXPECT_EQ(std::max(keys.bucket[pair.first], keys.bucket[pair.second]), bucket);
      order.insert(keys.position[pair.first] < keys.position[pair.second]);
    }
    EXPECT_EQ(order.size(), 2U);  // no bias to the earlier key
  }
}

TEST(LocalPairs, LeaveOutKeysWithoutNeighbour) {
  HeadRows keys;
  keys.example = {1, 1, 1, 2};
  keys.bucket = {0, 0, 0, 0};
  keys.position = {0, 1, 90, 50};  // L = 91: Delta = 4
  const HeadRows queries;
  NumpyGenerator generator(3);
  const LocalPairSampler sampler(queries, keys, group_by_bucket(keys), 0.05);
  for (const KeyPair& pair : sampler.draw(0, 50, generator)) EXPECT_EQ(pair.first + pair.second, 1U);
  HeadRows lonely;
  lonely.example = {1, 1};
  lonely.bucket = {0, 0};
  lonely.position = {0, 90};
  EXPECT_TRUE(LocalPairSampler(queries, lonely, group_by_bucket(lonely), 0.05).draw(0, 5, generator).empty());
}

TEST(LocalPairs, ReachFurtherWhenQueriesShowLongerExample) {
  HeadRows keys;
  keys.example = {1, 1};
  keys.bucket = {0, 0};
  keys.position = {0, 5};
  HeadRows queries;
  queries.example = {1};
  queries.bucket = {1};
  queries.position = {99};  // L = 100: Delta = 5
  NumpyGenerator generator(4);
  EXPECT_EQ(LocalPairSampler(queries, keys, group_by_bucket(keys), 0.05).draw(0, 5, generator).size(), 5U);
  queries.position = {98};  // Delta = 4
  EXPECT_TRUE(LocalPairSampler(queries, keys, group_by_bucket(keys), 0.05).draw(0, 5, generator).empty());
}

}  // namespace
}  // namespace attention_plasticity

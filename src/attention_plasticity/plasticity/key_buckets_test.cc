#include "attention_plasticity/plasticity/key_buckets.h"

#include <gtest/gtest.h>
#include "attention_plasticity/base/head_rows.h"

namespace attention_plasticity {
namespace {

using Buckets = std::vector<std::int64_t>;

// Buckets 0, 1, 3, 4 of 100 tokens; the last keys lie at 90, 190, 390, 490.
KeyBuckets four_buckets() {
  HeadRows keys;
  keys.bucket = {4, 0, 1, 3, 0, 4};
  keys.position = {490, 90, 190, 390, 10, 400};
  return group_by_bucket(keys);
}

TEST(KeyBuckets, KeepRowOrderAndLastPosition) {
  const KeyBuckets buckets = four_buckets();
  EXPECT_EQ(buckets.at(0).rows, (std::vector<std::size_t>{1, 4}));
  EXPECT_EQ(buckets.at(0).last_position, 90);
  EXPECT_EQ(buckets.at(4).last_position, 490);
}

TEST(KeyBuckets, AreAllEarlierOnesUnderFullAttention) {
  EXPECT_EQ(visible_key_buckets(four_buckets(), 4, 450, {}, WindowUnit::tokens), (Buckets{0, 1, 3}));
  EXPECT_EQ(visible_key_buckets(four_buckets(), 9, 950, {}, WindowUnit::buckets), (Buckets{0, 1, 3, 4}));
  EXPECT_TRUE(visible_key_buckets(four_buckets(), 0, 50, {}, WindowUnit::tokens).empty());
}

TEST(KeyBuckets, InTokensReachBackToWindowAndAlwaysToBucketBefore) {
  EXPECT_EQ(visible_key_buckets(four_buckets(), 4, 450, 300, WindowUnit::tokens), (Buckets{1, 3}));
  // A key exactly at tau - W is outside.
  EXPECT_EQ(visible_key_buckets(four_buckets(), 4, 450, 260, WindowUnit::tokens), (Buckets{3}));
  EXPECT_EQ(visible_key_buckets(four_buckets(), 4, 450, 261, WindowUnit::tokens), (Buckets{1, 3}));
  EXPECT_EQ(visible_key_buckets(four_buckets(), 4, 450, 1, WindowUnit::tokens), (Buckets{3}));
  EXPECT_TRUE(visible_key_buckets(four_buckets(), 3, 350, 1, WindowUnit::tokens).empty());  // bucket 2 has no keys
}

TEST(KeyBuckets, InBucketsReachBackByTheirNumber) {
  EXPECT_EQ(visible_key_buckets(four_buckets(), 4, 450, 3, WindowUnit::buckets), (Buckets{1, 3}));
  EXPECT_EQ(visible_key_buckets(four_buckets(), 4, 450, 1, WindowUnit::buckets), (Buckets{3}));
  EXPECT_EQ(visible_key_buckets(four_buckets(), 4, 450, 1e300, WindowUnit::buckets), (Buckets{0, 1, 3}));
}

}  // namespace
}  // namespace attention_plasticity

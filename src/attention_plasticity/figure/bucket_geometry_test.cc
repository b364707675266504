#include "attention_plasticity/figure/bucket_geometry.h"

#include <gtest/gtest.h>

#include <cmath>

#include "attention_plasticity/base/refusal_testing.h"

namespace attention_plasticity {
namespace {

TEST(BucketGeometry, UniformBucketsHaveOneSize) {
  const BucketGeometry buckets{BucketType::uniform, 128, true};
  EXPECT_EQ(buckets.start(3), 384);
  EXPECT_EQ(buckets.middle(3), 448);
}

TEST(BucketGeometry, LogBucketsDouble) {
  const BucketGeometry buckets{BucketType::log, 16, true};
  EXPECT_EQ(buckets.start(3), 128);
  EXPECT_DOUBLE_EQ(buckets.middle(3), 16 * std::pow(2, 3.5));
}

TEST(BucketGeometry, BucketsBeyondAnyTextAreRefused) {
  EXPECT_EQ(refusal([] { check_reach({BucketType::log, 1, true}, 30); }), "nothing");
  EXPECT_EQ(refusal([] { check_reach({BucketType::uniform, 128, true}, 9999); }), "nothing");
  EXPECT_TRUE(refusal([] {
                check_reach({BucketType::log, 1, true}, 60);
              }).starts_with("usage: bucket 60 would lie 1.6e+18 tokens into the text; "));
  EXPECT_TRUE(refusal([] { check_reach({BucketType::log, 1, true}, 9999); }).starts_with("usage: bucket 9999 would"));
}

TEST(TokenLabel, IsShortWherePossible) {
  EXPECT_EQ(token_label(0), "0");
  EXPECT_EQ(token_label(512), "512");
  EXPECT_EQ(token_label(1023), "1023");
  EXPECT_EQ(token_label(1024), "1k");
  EXPECT_EQ(token_label(1280), "1280");
  EXPECT_EQ(token_label(1536), "1.5k");
  EXPECT_EQ(token_label(131072), "128k");
  EXPECT_EQ(token_label(1048576), "1M");
  EXPECT_EQ(token_label(2.5), "2.5");
}

}  // namespace
}  // namespace attention_plasticity

#include "attention_plasticity/synth/options.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

std::string refusal(const std::function<void(SynthOptions&)>& change) {
  SynthOptions options;
  change(options);
  try {
    check(options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "";
}

TEST(SynthOptions, DefaultsAreAllowed) {
  EXPECT_EQ(refusal([](SynthOptions&) {}), "");
}

TEST(SynthOptions, RefuseSizesOutOfRangeByName) {
  EXPECT_EQ(refusal([](auto& o) { o.layers = 0; }), "layers must be from 1 to 65535, not 0");
  EXPECT_EQ(refusal([](auto& o) { o.q_heads = -4; }), "q_heads must be from 1 to 65535, not -4");
  EXPECT_EQ(refusal([](auto& o) { o.k_heads = 0; }), "k_heads must be from 1 to 65535, not 0");
  EXPECT_EQ(refusal([](auto& o) { o.k_heads = 3; }), "q_heads must be a multiple of k_heads: 4 is not a multiple of 3");
  EXPECT_EQ(refusal([](auto& o) { o.rows = 0; }), "rows must be from 1 to 2147483648, not 0");
  EXPECT_EQ(refusal([](auto& o) { o.dim = 5000; }), "dim must be from 1 to 4096, not 5000");
  EXPECT_EQ(refusal([](auto& o) { o.examples = 0; }), "examples must be from 1 to 2147483648, not 0");
  EXPECT_EQ(refusal([](auto& o) { o.buckets = 0; }), "buckets must be from 1 to 8589934592, not 0");
  EXPECT_EQ(refusal([](auto& o) { o.bucket_size = 1; }), "bucket_size must be from 2 to 1099511627776, not 1");
}

TEST(SynthOptions, RefuseWhatIsNoSize) {
  EXPECT_EQ(refusal([](auto& o) { o.slope = -1; }), "slope must be from 0 to 100000, not -1");
  EXPECT_EQ(refusal([](auto& o) { o.mean = std::numeric_limits<double>::quiet_NaN(); }),
            "mean must be from 0 to 100000, not nan");
  EXPECT_EQ(refusal([](auto& o) { o.spectrum = 5; }), "spectrum must be from 0 to 4, not 5");
  EXPECT_EQ(refusal([](auto& o) { o.example_effect = std::numeric_limits<double>::infinity(); }),
            "example_effect must be from 0 to 100000, not inf");
}

TEST(SynthOptions, LogSpacingHasFewBucketsAndNoSize) {
  EXPECT_EQ(refusal([](auto& o) { o.spacing = BucketSpacing::log, o.buckets = 41; }),
            "buckets must be from 1 to 40, not 41");
  EXPECT_EQ(refusal([](auto& o) { o.spacing = BucketSpacing::log, o.bucket_size = 0; }), "");
}

TEST(SynthOptions, RotationNeedsPlanesAndABase) {
  EXPECT_EQ(refusal([](auto& o) { o.rope_theta = 1e4, o.dim = 63; }), "dim must be even with rope_theta, not 63");
  EXPECT_EQ(refusal([](auto& o) { o.rope_dim = 4; }), "rope_dim needs rope_theta");
  EXPECT_EQ(refusal([](auto& o) { o.rope_first = 4; }), "rope_first needs rope_theta");
  EXPECT_EQ(refusal([](auto& o) { o.rope_layout = RotaryLayout::interleaved; }), "rope_layout needs rope_theta");
  EXPECT_EQ(refusal([](auto& o) { o.rope_theta = 1e4, o.rope_dim = 5; }), "rope_dim must be even, not 5");
  EXPECT_EQ(refusal([](auto& o) { o.rope_theta = 1e4, o.rope_dim = 66; }), "rope_dim must be from 2 to 64, not 66");
  EXPECT_EQ(refusal([](auto& o) { o.rope_theta = 1e4, o.rope_dim = 34, o.rope_first = 32; }),
            "rope_dim must be from 2 to 32, not 34");
  EXPECT_EQ(refusal([](auto& o) { o.rope_theta = 1e4, o.rope_first = 64; }), "rope_first must be from 0 to 62, not 64");
  EXPECT_EQ(refusal([](auto& o) { o.rope_theta = 1; }), "rope_theta must be a number above 1, not 1");
}

TEST(SynthOptions, WindowsBelongToLayersThatExist) {
  EXPECT_EQ(refusal([](auto& o) { o.window = 0; }), "window must be at least 1 token, not 0");
  EXPECT_EQ(refusal([](auto& o) { o.sliding_layers = {0}; }), "sliding_layers need a window");
  EXPECT_EQ(refusal([](auto& o) { o.window = 8, o.sliding_layers = {1, 2}; }),
            "sliding_layers must be from 0 to 1, not 2");
}

}  // namespace
}  // namespace attention_plasticity

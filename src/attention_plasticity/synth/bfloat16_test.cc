#include "attention_plasticity/synth/bfloat16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace attention_plasticity {
namespace {

constexpr float step = 0x1p-7F;  // between bfloat16 numbers in [1, 2)

TEST(Bfloat16, KeepsWhatItCanHold) {
  for (const float x : {0.0F, 1.0F, -1.0F, 1.0F + step, 0x1p-126F, 3.0F * 0x1p100F}) EXPECT_EQ(round_to_bfloat16(x), x);
  EXPECT_TRUE(std::signbit(round_to_bfloat16(-0.0F)));
}

TEST(Bfloat16, RoundsToTheNearest) {
  EXPECT_EQ(round_to_bfloat16(3.14159265F), 3.140625F);
  EXPECT_EQ(round_to_bfloat16(-0.1F), -0.10009765625F);
  EXPECT_EQ(round_to_bfloat16(1.0F + 0.49F * step), 1.0F);
  EXPECT_EQ(round_to_bfloat16(1.0F + 0.51F * step), 1.0F + step);
}

TEST(Bfloat16, RoundsTiesToTheEvenNumber) {
  EXPECT_EQ(round_to_bfloat16(1.0F + 0.5F * step), 1.0F);
  EXPECT_EQ(round_to_bfloat16(1.0F + 1.5F * step), 1.0F + 2 * step);
  EXPECT_EQ(round_to_bfloat16(-1.0F - 2.5F * step), -1.0F - 2 * step);
  EXPECT_EQ(round_to_bfloat16(2.0F - 0.5F * step), 2.0F);
}

TEST(Bfloat16, OverflowsToInfinity) {
  EXPECT_EQ(round_to_bfloat16(std::numeric_limits<float>::max()), std::numeric_limits<float>::infinity());
}

}  // namespace
}  // namespace attention_plasticity

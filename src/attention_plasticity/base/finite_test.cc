#include "attention_plasticity/base/finite.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "attention_plasticity/base/highway_targets_testing.h"

namespace attention_plasticity {
namespace {

using Limits = std::numeric_limits<float>;

TEST(AllFinite, HoldsForEveryFiniteNumber) {
  std::vector<float> values;
  for_every_target([&](const char* target) { EXPECT_TRUE(all_finite(values)) << target; });
  for (int i = 0; i < 26; ++i) {
    for (const float value : {0.0F, -0.0F, Limits::max(), Limits::lowest(), Limits::denorm_min()}) {
      values.push_back(value);
      for_every_target([&](const char* target) { EXPECT_TRUE(all_finite(values)) << target << ", " << values.size(); });
    }
  }
}

TEST(AllFinite, FindsTheOneThatIsNot) {
  const float odd[]{Limits::quiet_NaN(), -Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity()};
  for (std::size_t width = 1; width <= 130; ++width) {
    for (std::size_t at = 0; at < width; ++at) {
      std::vector<float> values(width, -1.5F);
      values[at] = odd[(at + width) % 4];
      for_every_target(
          [&](const char* target) { EXPECT_FALSE(all_finite(values)) << target << ", " << at << " of " << width; });
    }
  }
}

}  // namespace
}  // namespace attention_plasticity

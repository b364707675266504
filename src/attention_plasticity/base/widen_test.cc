#include "attention_plasticity/base/widen.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "attention_plasticity/base/highway_targets_testing.h"

namespace attention_plasticity {
namespace {

TEST(Widen, KeepsEveryValue) {
  for (std::size_t width = 0; width <= 130; ++width) {
    std::vector<float> captured;
    for (std::size_t c = 0; c < width; ++c) captured.push_back(0.1F * static_cast<float>(c) - 3.F);
    for_every_target([&](const char* target) {
      std::vector<double> out(width);
      widen(captured, out);
      EXPECT_TRUE(std::ranges::equal(out, captured)) << target << ", " << width;
    });
  }
}

}  // namespace
}  // namespace attention_plasticity

#include "attention_plasticity/plasticity/key_difference_kernel.h"

#include <gtest/gtest.h>

#include "attention_plasticity/base/highway_targets_testing.h"
#include "attention_plasticity/plasticity/random_rows_testing.h"

namespace attention_plasticity {
namespace {

TEST(KeyDifferences, AreExactForEveryWidth) {
  for (std::size_t width = 1; width <= 130; ++width) {
    NumpyGenerator generator(width);
    const HeadRows keys = random_rows(1, 12, 64, 16, width, generator);
    std::vector<KeyPair> pairs;
    for (std::size_t i = 0; i < width % 20; ++i) pairs.push_back({generator.integers(12), generator.integers(12)});
    for_every_target([&](const char* target) {
      SCOPED_TRACE(testing::Message() << target << ", " << width << " components");
      Matrix differences(pairs.size(), width);
      write_differences(keys, pairs, differences);
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        for (std::size_t c = 0; c < width; ++c) {
          ASSERT_EQ(differences.row(i)[c], static_cast<double>(keys.row(pairs[i].first)[c]) -
                                               static_cast<double>(keys.row(pairs[i].second)[c]));
        }
      }
    });
  }
}

}  // namespace
}  // namespace attention_plasticity

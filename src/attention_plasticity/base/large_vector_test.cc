#include "attention_plasticity/base/large_vector.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <numeric>
#include <thread>
#include "attention_plasticity/memory.h"

namespace attention_plasticity {
namespace {

constexpr std::size_t mebi = std::size_t{1} << 20;

std::uintptr_t address(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

TEST(LargeVector, BeginsWhereVectorsOfAnyTargetMay) {
  for (const std::size_t size : {1UL, 7UL, 1000UL, mebi}) {
    const LargeVector<float> values(size, 1.0F);
    EXPECT_EQ(address(values.data()) % 64, 0U);
  }
  EXPECT_EQ(address(LargeVector<float>(mebi).data()) % (2 * mebi), 0U);
}

TEST(LargeVector, HoldsWhatIsPutIntoItWhileItGrows) {
  LargeVector<std::uint32_t> values;
  for (std::uint32_t i = 0; i < 3 * mebi; ++i) values.push_back(i);
  LargeVector<std::uint32_t> copy = values;
  copy.resize(4 * mebi, 9);
  EXPECT_EQ(copy.back(), 9U);
  copy.resize(values.size());
  EXPECT_EQ(copy, values);
  EXPECT_EQ(std::accumulate(values.begin(), values.end(), std::uint64_t{0}), 3 * mebi * (3 * mebi - 1) / 2);
}

TEST(LargeVector, GetsTheBlockOfOneThatEnded) {
  release_kept_memory();
  const void* first = LargeVector<char>(9 * mebi).data();
  EXPECT_EQ(kept_memory_bytes(), 10 * mebi);
  const LargeVector<char> next(9 * mebi + 1);
  EXPECT_EQ(next.data(), first);
  EXPECT_EQ(kept_memory_bytes(), 0U);
}

TEST(LargeVector, KeepsNothingThatDoesNotFitTheNext) {
  release_kept_memory();
  {
    const LargeVector<char> several[]{LargeVector<char>(3 * mebi), LargeVector<char>(5 * mebi)};
  }
  EXPECT_EQ(kept_memory_bytes(), 10 * mebi);
  const LargeVector<char> larger(30 * mebi);
  EXPECT_EQ(kept_memory_bytes(), 0U);
}

TEST(LargeVector, FreesWhatIsKeptWhenAsked) {
  {
    const LargeVector<char> values(4 * mebi);
  }
  EXPECT_GE(kept_memory_bytes(), 4 * mebi);
  release_kept_memory();
  EXPECT_EQ(kept_memory_bytes(), 0U);
}

TEST(LargeVector, RefusesWhatNoMachineHas) {
  EXPECT_THROW(take_block(std::numeric_limits<std::size_t>::max() - 5), std::bad_alloc);
  EXPECT_THROW(BlockAllocator<double>().allocate(std::numeric_limits<std::size_t>::max() / 4), std::bad_alloc);
}

TEST(LargeVector, IsSharedOutAmongThreads) {
  const auto fill = [](std::uint32_t seed) {
    for (std::uint32_t round = 0; round < 50; ++round) {
      LargeVector<std::uint32_t> values((round % 3 + 1) * mebi);
      for (std::size_t i = 0; i < values.size(); i += 4099) values[i] = seed + round;
      for (std::size_t i = 0; i < values.size(); i += 4099) ASSERT_EQ(values[i], seed + round);
    }
  };
  {
    std::jthread other([&] { fill(1000); });
    fill(2000);
  }
  release_kept_memory();
}

}  // namespace
}  // namespace attention_plasticity

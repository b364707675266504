#include "attention_plasticity/cli/machine.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace attention_plasticity {
namespace {

TEST(CpuSeconds, GrowWithWork) {
  const double before = cpu_seconds();
  EXPECT_GE(before, 0);
  volatile double sum = 0;
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (cpu_seconds() < before + 0.02 && std::chrono::steady_clock::now() < give_up) sum = sum + 1;
  EXPECT_GE(cpu_seconds(), before + 0.02);
}

TEST(PeakRss, CountsMemoryThatWasTouched) {
  constexpr std::size_t size = std::size_t{64} << 20;
  const std::uint64_t before = peak_rss_bytes();
  EXPECT_GT(before, std::uint64_t{1} << 20);
  {
    const std::vector<char> touched(size, 'x');
  }
  EXPECT_GE(peak_rss_bytes(), size);
  EXPECT_LT(peak_rss_bytes(), before + 4 * size);
}

}  // namespace
}  // namespace attention_plasticity

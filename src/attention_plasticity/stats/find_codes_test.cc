#include "attention_plasticity/stats/find_codes.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

#include "attention_plasticity/base/highway_targets_testing.h"

namespace attention_plasticity {
namespace {

void check_against_plain(const std::vector<std::uint16_t>& codes, std::uint16_t first, std::uint16_t last) {
  std::vector<std::uint32_t> expected;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (first <= codes[i] && codes[i] <= last) expected.push_back(static_cast<std::uint32_t>(i));
  }
  for_every_target([&](const char* target) {
    SCOPED_TRACE(target);
    std::vector<std::uint32_t> found(codes.size());
    found.resize(find_codes(codes, first, last, found.data()));
    EXPECT_EQ(found, expected);
  });
}

TEST(FindCodes, AgreesWithPlainLoopForEveryLength) {
  for (std::size_t n = 0; n <= 200; ++n) {
    SCOPED_TRACE(n);
    std::vector<std::uint16_t> codes(n);
    for (std::size_t i = 0; i < n; ++i) codes[i] = static_cast<std::uint16_t>(i * 24107);
    check_against_plain(codes, 20000, 45000);
  }
}

TEST(FindCodes, KnowsTheEnds) {
  check_against_plain(std::vector<std::uint16_t>(100, 65535), 65535, 65535);
  check_against_plain(std::vector<std::uint16_t>(100, 0), 0, 0);
  check_against_plain({0, 1, 32767, 32768, 65534, 65535}, 0, 65535);
  check_against_plain(std::vector<std::uint16_t>(100, 7), 8, 65535);
}

RC_GTEST_PROP(FindCodes, AgreesWithPlainLoop, (const std::vector<std::uint16_t>& codes)) {
  const auto first = *rc::gen::arbitrary<std::uint16_t>();
  const auto last = static_cast<std::uint16_t>(*rc::gen::inRange<int>(first, 65536));
  check_against_plain(codes, first, last);
  RC_ASSERT(!::testing::Test::HasFailure());
}

}  // namespace
}  // namespace attention_plasticity

#include "attention_plasticity/store/range_plan.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <utility>

namespace attention_plasticity {
namespace {

using Ranges = std::vector<ByteRange>;

std::uint64_t bytes_of(const Ranges& ranges) {
  std::uint64_t bytes = 0;
  for (const ByteRange& range : ranges) bytes += range.size();
  return bytes;
}

TEST(RangePlan, AsksForNothingWhereNothingIsNeeded) {
  EXPECT_TRUE(planned_ranges({}).empty());
  EXPECT_TRUE(planned_ranges(Ranges{{7, 7}}).empty());
}

TEST(RangePlan, ReadsThroughASmallHole) {
  EXPECT_EQ(planned_ranges(Ranges{{4, 1000}, {1050, 2000}}), (Ranges{{4, 2000}}));
}

TEST(RangePlan, LeavesALargeColumnOut) {
  EXPECT_EQ(planned_ranges(Ranges{{4, 1000}, {90'000, 91'000}}), (Ranges{{4, 1000}, {90'000, 91'000}}));
}

TEST(RangePlan, ReadsThroughLargerHolesForFewerRequestsOnly) {
  const RangeLimits limits{.most_bytes = 1.2, .most_requests = 2, .small_hole = 0};
  const Ranges two{{0, 1000}, {1100, 2000}};
  EXPECT_EQ(planned_ranges(two, limits), two);
  EXPECT_EQ(planned_ranges(Ranges{{0, 1000}, {1100, 2000}, {2050, 3000}}, limits), (Ranges{{0, 1000}, {1100, 3000}}));
}

TEST(RangePlan, KeepsTheLimitOfBytesWhereItCannotKeepThatOfRequests) {
  Ranges needed;
  for (std::uint64_t i = 0; i < 10; ++i) needed.push_back({i * 1000, i * 1000 + 100});
  EXPECT_EQ(planned_ranges(needed), needed);
}

TEST(RangePlan, UnitesWhatOverlapsInAnyOrder) {
  EXPECT_EQ(planned_ranges(Ranges{{50, 90}, {10, 60}, {20, 30}}), (Ranges{{10, 90}}));
}

RC_GTEST_PROP(RangePlan, CoversAllThatIsNeededWithinItsLimits,
              (const std::vector<std::pair<std::uint16_t, std::uint16_t>>& pieces)) {
  Ranges needed;
  for (const auto& [begin, size] : pieces) needed.push_back({begin, std::uint64_t{begin} + size % 512});
  const Ranges plan = planned_ranges(needed);
  const Ranges exactly = planned_ranges(needed, {.most_bytes = 1, .most_requests = 1'000'000, .small_hole = 0});
  for (const ByteRange& range : needed) {
    RC_ASSERT(range.size() == 0 || std::ranges::any_of(plan, [&](const ByteRange& asked) {
                return asked.begin <= range.begin && range.end <= asked.end;
              }));
  }
  for (std::size_t i = 1; i < plan.size(); ++i) RC_ASSERT(plan[i - 1].end < plan[i].begin);
  RC_ASSERT(bytes_of(plan) * 10 <= bytes_of(exactly) * 12);
  // More requests than wanted are made only where the next hole would cost too many bytes.
  if (plan.size() > 2) {
    std::uint64_t smallest = ~std::uint64_t{0};
    for (std::size_t i = 1; i < plan.size(); ++i) smallest = std::min(smallest, plan[i].begin - plan[i - 1].end);
    RC_ASSERT((bytes_of(plan) + smallest) * 10 > bytes_of(exactly) * 12 - 10);
  }
}

}  // namespace
}  // namespace attention_plasticity

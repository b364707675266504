#include "attention_plasticity/base/usable_cores.h"

#include <gtest/gtest.h>
#include <sched.h>

namespace attention_plasticity {
namespace {

cpu_set_t affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
  return set;
}

TEST(UsableCores, AreAtMostThoseOfTheAffinityMask) {
  const cpu_set_t all = affinity();
  EXPECT_GE(usable_cores(), 1);
  EXPECT_LE(usable_cores(), CPU_COUNT(&all));
}

TEST(UsableCores, FollowTheAffinityMask) {
  const cpu_set_t all = affinity();
  int first = 0;
  while (!CPU_ISSET(first, &all)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(usable_cores(), 1);
  ASSERT_EQ(::sched_setaffinity(0, sizeof all, &all), 0);
}

}  // namespace
}  // namespace attention_plasticity

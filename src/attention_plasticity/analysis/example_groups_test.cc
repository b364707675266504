#include "attention_plasticity/analysis/example_groups.h"

#include <gtest/gtest.h>

#include <numeric>

namespace attention_plasticity {
namespace {

using Ids = std::vector<std::uint64_t>;
using Groups = std::vector<std::size_t>;

TEST(ExampleGroups, TakeExamplesOfQueriesAndKeysInOrder) {
  EXPECT_EQ(distinct_examples(Ids{9, 3, 9}, Ids{5, 3}), (Ids{3, 5, 9}));
}

TEST(ExampleGroups, AreRankModuloTwenty) {
  Ids ids(45);
  std::iota(ids.begin(), ids.end(), 100);
  const ExampleGroups groups(ids);
  EXPECT_EQ(groups.count(), 20U);
  EXPECT_EQ(groups.of(Ids{100, 119, 120, 144}), (Groups{0, 19, 0, 4}));
}

TEST(ExampleGroups, AreSinglesWhenFewAndNoneBelowThree) {
  EXPECT_EQ(ExampleGroups(Ids{7, 8, 20}).of(Ids{20, 7}), (Groups{2, 0}));
  EXPECT_EQ(ExampleGroups(Ids{7, 8}).count(), 0U);
  EXPECT_TRUE(ExampleGroups(Ids{7, 8}).of(Ids{7}).empty());
}

}  // namespace
}  // namespace attention_plasticity

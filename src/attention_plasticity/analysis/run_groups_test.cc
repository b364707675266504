#include "attention_plasticity/analysis/run_groups.h"

#include <gtest/gtest.h>

#include <numeric>

namespace attention_plasticity {
namespace {

using Ids = std::vector<std::uint64_t>;
using Numbers = std::vector<std::size_t>;

RunGroups groups_of(const Ids& reference) { return RunGroups(ranges_of(reference)); }

Numbers listed(const std::vector<std::size_t>& groups) { return {groups.begin(), groups.end()}; }

TEST(RunGroups, TakeDocumentsOfQueriesAndKeysInOrder) {
  EXPECT_EQ(distinct_examples(Ids{9, 3, 9}, Ids{5, 3}), (Ids{3, 5, 9}));
}

TEST(RunGroups, JoinConsecutiveDocumentsIntoRanges) {
  EXPECT_EQ(ranges_of(Ids{3, 4, 5, 9, 11, 12}), (std::vector<DocumentRange>{{3, 5}, {9, 9}, {11, 12}}));
  EXPECT_TRUE(ranges_of({}).empty());
}

TEST(RunGroups, AreRankModuloTwenty) {
  Ids ids(45);
  std::iota(ids.begin(), ids.end(), 100);
  ids.insert(ids.begin(), 7);
  const RunGroups groups = groups_of(ids);
  EXPECT_EQ(groups.count(), 20U);
  EXPECT_EQ(groups.group_of(7), 0U);
  EXPECT_EQ(groups.group_of(100), 1U);
  EXPECT_EQ(groups.group_of(119), 0U);
  EXPECT_EQ(groups.group_of(144), 5U);
}

TEST(RunGroups, AreIdModuloTheirNumberForOtherDocuments) {
  const RunGroups groups = groups_of({10, 20, 30, 40});
  EXPECT_EQ(groups.group_of(40), 3U);
  EXPECT_EQ(groups.group_of(41), 1U);
  EXPECT_EQ(groups.group_of(9), 1U);
  EXPECT_EQ(groups.group_of(std::uint64_t{1} << 63U), 0U);
}

TEST(RunGroups, AreNoneForFewerThanThreeReferenceDocuments) {
  EXPECT_EQ(groups_of({7, 8}).count(), 0U);
  EXPECT_EQ(groups_of({7, 8}).of_head(Ids{7, 8, 9, 10}, {}).rows.count, 0U);
  EXPECT_EQ(groups_of({7, 8, 20}).count(), 3U);
}

TEST(RunGroups, OfAHeadAreNumberedWithoutThoseThatItDoesNotHave) {
  const RunGroups groups = groups_of({0, 1, 2, 3, 4});
  const HeadGroups all = groups.of_head(Ids{4, 0, 2}, Ids{3, 1, 1});
  EXPECT_EQ(all.numbers, (Numbers{0, 1, 2, 3, 4}));
  EXPECT_EQ(listed(all.rows.of_query), (Numbers{4, 0, 2}));
  const HeadGroups some = groups.of_head(Ids{4, 0, 4}, Ids{3, 3, 5});
  EXPECT_EQ(some.numbers, (Numbers{0, 3, 4}));
  EXPECT_EQ(some.rows.count, 3U);
  EXPECT_EQ(listed(some.rows.of_query), (Numbers{2, 0, 2}));
  EXPECT_EQ(listed(some.rows.of_key), (Numbers{1, 1, 0}));
}

TEST(RunGroups, OfAHeadWithTwoAreNone) {
  const HeadGroups two = groups_of({0, 1, 2, 3, 4}).of_head(Ids{0, 1}, Ids{0, 5});
  EXPECT_EQ(two.rows.count, 0U);
  EXPECT_TRUE(two.numbers.empty());
  EXPECT_TRUE(two.rows.of_query.empty());
}

}  // namespace
}  // namespace attention_plasticity

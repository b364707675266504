#include "attention_plasticity/base/nearest_name.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <string>

namespace attention_plasticity {
namespace {

constexpr std::array<std::string_view, 4> known{"max_workers", "download_max_workers", "seed", "layers"};

TEST(EditDistance, CountsInsertionsDeletionsAndReplacements) {
  EXPECT_EQ(edit_distance("seed", "seed"), 0U);
  EXPECT_EQ(edit_distance("", "seed"), 4U);
  EXPECT_EQ(edit_distance("seed", ""), 4U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("flaw", "lawn"), 2U);
}

TEST(EditDistance, CountsSwappedNeighboursOnce) {
  EXPECT_EQ(edit_distance("sede", "seed"), 1U);
  EXPECT_EQ(edit_distance("ca", "abc"), 3U);  // letters of a swap may not change again
}

TEST(EditDistance, TakesDashesForUnderscoresAndIgnoresCase) {
  EXPECT_EQ(edit_distance("max-workers", "max_workers"), 0U);
  EXPECT_EQ(edit_distance("Max_Workers", "max_workers"), 0U);
}

RC_GTEST_PROP(EditDistance, IsSymmetricAndBoundedByTheLengths, ()) {
  const auto letters = rc::gen::container<std::string>(rc::gen::elementOf(std::string("abc")));
  const std::string a = *letters;
  const std::string b = *letters;
  const std::size_t distance = edit_distance(a, b);
  RC_ASSERT(distance == edit_distance(b, a));
  RC_ASSERT(distance <= std::max(a.size(), b.size()));
  RC_ASSERT(distance >= std::max(a.size(), b.size()) - std::min(a.size(), b.size()));
  RC_ASSERT((distance == 0) == (a == b));
}

TEST(NearestName, FindsWhatATypoMeant) {
  EXPECT_EQ(nearest_name("max_worker", known), "max_workers");
  EXPECT_EQ(nearest_name("Layer", known), "layers");
  EXPECT_EQ(nearest_name("sede", known), "seed");
}

TEST(NearestName, SuggestsNothingWhenAllAreFar) {
  EXPECT_EQ(nearest_name("temperature", known), std::nullopt);
  EXPECT_EQ(nearest_name("", known), std::nullopt);
  EXPECT_EQ(nearest_name("workers", known), std::nullopt);
}

TEST(NearestName, TakesTheFirstOfATie) {
  constexpr std::array<std::string_view, 2> pair{"abcd", "abce"};
  EXPECT_EQ(nearest_name("abcf", pair), "abcd");
}

TEST(NearestName, HasNothingToSuggestFromNoNames) { EXPECT_EQ(nearest_name("seed", {}), std::nullopt); }

TEST(NearestName, CopesWithAHugeName) {
  EXPECT_EQ(nearest_name(std::string(std::size_t{1} << 20, 'x'), known), std::nullopt);
}

}  // namespace
}  // namespace attention_plasticity

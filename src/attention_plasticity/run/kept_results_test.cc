#include "attention_plasticity/run/kept_results.h"

#include <gtest/gtest.h>

namespace attention_plasticity {
namespace {

constexpr std::uint64_t limit = 1024 * 1000;  // a small result has up to 1000 bytes

TEST(KeptResults, SetsAnEighthAsideForSmallResults) {
  KeptResults results(3, limit, 0);
  EXPECT_EQ(results.most_of_next(), limit * 7 / 8);
  EXPECT_FALSE(results.refusal_of_next({limit * 7 / 8, 1000}));
  const auto refusal = results.refusal_of_next({limit * 7 / 8 + 1, 1000});
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal.value_or(OverMemoryLimit(0, 0)).needed(), limit + 1);
  results.keep(0, 1000);
  EXPECT_EQ(results.most_of_next(), limit * 7 / 8);
}

TEST(KeptResults, CountsLargeResultsOfTheHeadsBefore) {
  KeptResults results(3, limit, 0);
  results.keep(0, 200'000);
  EXPECT_EQ(results.next(), 1U);
  EXPECT_EQ(results.most_of_next(), limit * 7 / 8 - 200'000);
  const auto refusal = results.refusal_of_next({limit * 7 / 8, 1000});
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal.value_or(OverMemoryLimit(0, 0)).what_for(),
            "its result takes 1.0 KiB, and the results of the heads before it hold 195.3 KiB");
}

TEST(KeptResults, CountsManySmallResults) {
  KeptResults results(400, limit, 0);
  for (std::size_t head = 0; head < 300; ++head) results.keep(head, 1000);
  EXPECT_EQ(results.most_of_next(), limit - 300'000);
}

TEST(KeptResults, GivesLargeResultsHalfOfTheLimit) {
  KeptResults results(3, limit, 0);
  results.keep(0, limit / 4);
  EXPECT_FALSE(results.refusal_of_next({limit / 4, limit / 4}));
  EXPECT_TRUE(results.refusal_of_next({limit / 4, limit / 4 + 1}));
}

TEST(KeptResults, CountsWhatWasHeldBefore) {
  EXPECT_EQ(KeptResults(1, limit, 5000).most_of_next(), limit * 7 / 8 - 5000);
  EXPECT_EQ(KeptResults(1, limit, 2 * limit).most_of_next(), 0U);
}

TEST(KeptResults, JudgesHeadsInOrder) {
  KeptResults results(4, limit, 0);
  results.keep(1, 800);
  results.keep(3, 0);
  EXPECT_EQ(results.next(), 0U);
  results.keep(0, 0);
  EXPECT_EQ(results.next(), 2U);
  results.keep(2, 5000);
  EXPECT_EQ(results.next(), 4U);
}

TEST(KeptResults, KeepsAHeadOutOfOrderOnlyIfItFitsWhateverTheOthersDo) {
  KeptResults results(200, limit, 0);
  EXPECT_TRUE(results.fits_anyway({limit / 4, 1000}));
  EXPECT_FALSE(results.fits_anyway({limit / 4 + 1, 1000}));
  EXPECT_FALSE(results.fits_anyway({limit / 4, 1001}));
  for (std::size_t head = 1; head <= 128; ++head) results.keep(head, 1000);
  EXPECT_FALSE(results.fits_anyway({limit / 4, 1})) << "an eighth is full";
}

}  // namespace
}  // namespace attention_plasticity

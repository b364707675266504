#include "attention_plasticity/synth/context.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

namespace attention_plasticity {
namespace {

SynthOptions spaced(BucketSpacing spacing, std::size_t buckets, std::size_t bucket_size) {
  SynthOptions options;
  options.spacing = spacing;
  options.buckets = buckets;
  options.bucket_size = bucket_size;
  return options;
}

SynthOptions any_spacing() {
  if (*rc::gen::arbitrary<bool>()) return spaced(BucketSpacing::log, *rc::gen::inRange<std::size_t>(1, 11), 0);
  return spaced(BucketSpacing::uniform, *rc::gen::inRange<std::size_t>(1, 20), *rc::gen::inRange<std::size_t>(2, 50));
}

TEST(Context, LogBucketsBeginAtPowersOfTwo) {
  const Context context(spaced(BucketSpacing::log, 5, 0));
  EXPECT_EQ(context.tokens(), 32U);
  const std::vector<std::size_t> first = {0, 2, 4, 8, 16};
  for (std::size_t b = 0; b < first.size(); ++b) EXPECT_EQ(context.bucket(b).first, first[b]);
}

TEST(Context, LogBucketsShareRowsEvenlyAsFarAsTheyHavePositions) {
  const Context context(spaced(BucketSpacing::log, 6, 0));
  // 2 + 2 + 4 positions are all taken; the other 12 rows go to the three larger buckets.
  EXPECT_EQ(context.expected_rows(20), (std::vector<double>{2, 2, 4, 4, 4, 4}));
  EXPECT_EQ(context.expected_rows(64 + 6), (std::vector<double>{3, 3, 5, 9, 17, 33}));
}

TEST(Context, UniformPositionsFillBucketsEvenly) {
  const Context context(spaced(BucketSpacing::uniform, 4, 50));
  NumpyGenerator generator(0);
  std::vector<double> count(4);
  for (int document = 0; document < 500; ++document) {
    for (const auto position : context.draw_positions(40, generator)) ++count[context.bucket_of(position)];
  }
  // 20,000 rows; the variance is below that of a binomial.
  for (const double rows : count) EXPECT_NEAR(rows, 5000, 4 * 61);
}

RC_GTEST_PROP(Context, BucketsTileTheContext, ()) {
  const Context context(any_spacing());
  std::uint64_t next = 0;
  for (std::size_t b = 0; b < context.buckets(); ++b) {
    const TokenRange range = context.bucket(b);
    RC_ASSERT(range.first == next);
    RC_ASSERT(context.bucket_of(range.first) == b);
    RC_ASSERT(context.bucket_of(range.last()) == b);
    next += range.count;
  }
  RC_ASSERT(next == context.tokens());
}

RC_GTEST_PROP(Context, PositionsRepeatOnlyWhenTheyMust, ()) {
  const Context context(any_spacing());
  NumpyGenerator generator(*rc::gen::arbitrary<std::uint32_t>());
  const auto rows = *rc::gen::inRange<std::size_t>(0, 3 * context.tokens());
  const auto positions = context.draw_positions(rows, generator);
  RC_ASSERT(positions.size() == rows);
  RC_ASSERT(std::ranges::is_sorted(positions));
  std::vector<std::size_t> times(context.tokens());
  for (const auto position : positions) ++times.at(position);
  RC_ASSERT(*std::ranges::min_element(times) >= rows / context.tokens());
  RC_ASSERT(*std::ranges::max_element(times) <= (rows + context.tokens() - 1) / context.tokens());
}

RC_GTEST_PROP(Context, EveryRowIsExpectedSomewhere, ()) {
  SynthOptions options = any_spacing();
  options.rows = *rc::gen::inRange<std::size_t>(1, 5000);
  options.examples = *rc::gen::inRange<std::size_t>(1, 40);
  const auto expected = expected_rows_by_bucket(options);
  const double total = std::accumulate(expected.begin(), expected.end(), 0.0);
  RC_ASSERT(std::abs(total - static_cast<double>(options.rows)) < 1e-8);
  std::size_t rows = 0;
  for (std::size_t example = 0; example < options.examples; ++example) rows += rows_of_example(options, example);
  RC_ASSERT(rows == options.rows);
}

}  // namespace
}  // namespace attention_plasticity

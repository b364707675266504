#include "attention_plasticity/dump/vector_pages.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

namespace attention_plasticity {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Levels = std::vector<std::uint8_t>;

void add_header(Bytes& runs, std::size_t header) {
  for (; header >= 0x80; header >>= 7) runs.push_back(static_cast<std::uint8_t>(header | 0x80U));
  runs.push_back(static_cast<std::uint8_t>(header));
}

void add_repeated(Bytes& runs, std::uint8_t level, std::size_t count) {
  add_header(runs, count << 1);
  runs.push_back(level);
}

/// Packs the levels, padded to a multiple of 8 with a bit of either kind.
void add_packed(Bytes& runs, const Levels& levels, int bits, bool padding) {
  const std::size_t groups = (levels.size() + 7) / 8;
  add_header(runs, groups << 1 | 1U);
  Bytes packed(groups * static_cast<std::size_t>(bits), padding ? 0xff : 0);
  for (std::size_t i = 0; i < levels.size() * static_cast<std::size_t>(bits); ++i) {
    const auto bit = static_cast<std::uint8_t>(1U << (i % 8));
    const bool set = (levels[i / static_cast<std::size_t>(bits)] >> (i % static_cast<std::size_t>(bits)) & 1U) != 0;
    packed[i / 8] = static_cast<std::uint8_t>(set ? packed[i / 8] | bit : packed[i / 8] & ~bit);
  }
  runs.insert(runs.end(), packed.begin(), packed.end());
}

/// Cuts the levels into runs wherever a writer may: repeated runs have any length, packed runs but the last a multiple
/// of 8.
Bytes encoded(const Levels& levels, int bits) {
  Bytes runs;
  for (std::size_t done = 0; done < levels.size();) {
    const auto begin = levels.begin() + static_cast<std::ptrdiff_t>(done);
    const auto same = static_cast<std::size_t>(
        std::find_if(begin, levels.end(), [&](std::uint8_t level) { return level != *begin; }) - begin);
    if (*rc::gen::arbitrary<bool>()) {
      const auto count = *rc::gen::inRange<std::size_t>(1, same + 1);
      add_repeated(runs, *begin, count);
      done += count;
    } else {
      const auto count = std::min(levels.size() - done, 8 * *rc::gen::inRange<std::size_t>(1, 20));
      add_packed(runs, Levels(begin, begin + static_cast<std::ptrdiff_t>(count)), bits, *rc::gen::arbitrary<bool>());
      done += count;
    }
  }
  return runs;
}

Levels row_levels(std::size_t width, std::size_t begun, std::size_t count) {
  Levels levels;
  for (std::size_t i = begun; i < begun + count; ++i) levels.push_back(i % width == 0 ? 0 : 1);
  return levels;
}

RC_GTEST_PROP(LevelRuns, KnowRowsOfOneWidthAndNothingElse, ()) {
  const auto width = *rc::gen::inRange<std::size_t>(1, 131);
  const auto begun = *rc::gen::inRange<std::size_t>(0, width);
  const auto count = *rc::gen::inRange<std::size_t>(1, 600);
  Levels levels = row_levels(width, begun, count);
  RC_ASSERT(runs_form_rows(encoded(levels, 1), width, begun, count));
  const auto odd = *rc::gen::inRange<std::size_t>(0, count);
  levels[odd] ^= 1U;
  RC_ASSERT(!runs_form_rows(encoded(levels, 1), width, begun, count));
}

/// Levels as usual writers store them: eight packed, the rest of the row repeated.
void add_usual_row(Bytes& runs, std::size_t width, std::size_t odd) {
  Levels levels = row_levels(width, 0, width);
  if (odd < width) levels[odd] ^= 1U;
  add_packed(runs, Levels(levels.begin(), levels.begin() + 8), 1, false);
  if (odd >= 8 && odd < width) {
    for (std::size_t i = 8; i < width; ++i) add_repeated(runs, levels[i], 1);
  } else {
    add_repeated(runs, 1, width - 8);
  }
}

RC_GTEST_PROP(LevelRuns, KnowRowsInTheSameBytesAndNothingElse, ()) {
  const auto width = *rc::gen::inRange<std::size_t>(9, 131);
  const auto rows = *rc::gen::inRange<std::size_t>(1, 40);
  const auto odd_row = *rc::gen::inRange<std::size_t>(0, rows);
  const auto odd = *rc::gen::inRange<std::size_t>(0, width);
  Bytes runs;
  Bytes damaged;
  for (std::size_t row = 0; row < rows; ++row) {
    add_usual_row(runs, width, width);
    add_usual_row(damaged, width, row == odd_row ? odd : width);
  }
  RC_ASSERT(runs_form_rows(runs, width, 0, rows * width));
  RC_ASSERT(runs_form_rows(runs, width, 0, *rc::gen::inRange<std::size_t>(0, rows * width)));
  RC_ASSERT(!runs_form_rows(runs, width, 0, rows * width + 1));
  RC_ASSERT(!runs_form_rows(damaged, width, 0, rows * width));
  RC_ASSERT(runs_form_rows(damaged, width, 0, odd_row * width));
}

RC_GTEST_PROP(LevelRuns, TellWidthsApart, ()) {
  const auto width = *rc::gen::inRange<std::size_t>(1, 70);
  const auto other = *rc::gen::distinctFrom(rc::gen::inRange<std::size_t>(1, 70), width);
  const Bytes runs = encoded(row_levels(width, 0, 200), 1);
  RC_ASSERT(runs_form_rows(runs, width, 0, 200));
  RC_ASSERT(!runs_form_rows(runs, other, 0, 200));
}

RC_GTEST_PROP(LevelRuns, KnowOneLevelAndNothingElse, ()) {
  const auto bits = *rc::gen::inRange(1, 3);
  const auto level = *rc::gen::inRange<std::uint8_t>(0, static_cast<std::uint8_t>(1 << bits));
  const auto count = *rc::gen::inRange<std::size_t>(1, 400);
  Levels levels(count, level);
  RC_ASSERT(runs_repeat(encoded(levels, bits), bits, level, count));
  const auto odd = *rc::gen::inRange<std::size_t>(0, count);
  levels[odd] = *rc::gen::distinctFrom(rc::gen::inRange<std::uint8_t>(0, static_cast<std::uint8_t>(1 << bits)), level);
  RC_ASSERT(!runs_repeat(encoded(levels, bits), bits, level, count));
}

RC_GTEST_PROP(LevelRuns, ThatEndEarlyAreNotKnown, ()) {
  const auto width = *rc::gen::inRange<std::size_t>(1, 20);
  Bytes runs = encoded(row_levels(width, 0, 100), 1);
  runs.resize(*rc::gen::inRange<std::size_t>(0, runs.size()));
  RC_ASSERT(!runs_form_rows(runs, width, 0, 100));
}

RC_GTEST_PROP(LevelRuns, OfAnyBytesAreReadWithinTheirBounds, (const Bytes& bytes)) {
  const auto count = *rc::gen::inRange<std::size_t>(0, 100);
  runs_form_rows(bytes, 3, 1, count);
  runs_repeat(bytes, 2, 3, count);
}

TEST(LevelRuns, LookAtNoMoreThanTheyAreAskedFor) {
  Bytes runs;
  add_repeated(runs, 3, 1000);
  EXPECT_TRUE(runs_repeat(runs, 2, 3, 10));
  EXPECT_TRUE(runs_repeat({}, 2, 3, 0));
  runs.push_back(0xff);
  EXPECT_TRUE(runs_repeat(runs, 2, 3, 1000));
  EXPECT_FALSE(runs_repeat(runs, 2, 3, 1001));
  EXPECT_FALSE(runs_repeat(runs, 3, 3, 10)) << "of 3 bits";
}

}  // namespace
}  // namespace attention_plasticity

#include "attention_plasticity/dump/head_columns.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace attention_plasticity {
namespace {

// Levels of `optional group vector (LIST) { repeated group list { optional float element } }`.
constexpr std::int16_t null_vector = 0;
constexpr std::int16_t empty_vector = 1;
constexpr std::int16_t null_component = 2;
constexpr std::int16_t component = 3;

struct Entries {
  std::vector<std::int16_t> definition;
  std::vector<std::int16_t> repetition;
  std::vector<float> values;

  void add_row(std::size_t width) {
    for (std::size_t i = 0; i < width; ++i) add(component, i > 0);
  }
  void add(std::int16_t level, bool continues) {
    definition.push_back(level);
    repetition.push_back(continues ? 1 : 0);
    if (level == component) values.push_back(static_cast<float>(values.size()));
  }
  /// Entries [first, last), none of them null.
  VectorChunk chunk(std::size_t first, std::size_t last) const {
    VectorChunk part = all();
    part.definition = part.definition.subspan(first, last - first);
    part.repetition = part.repetition.subspan(first, last - first);
    part.values = part.values.subspan(first, last - first);
    part.fitting = part.values.size();
    return part;
  }
  VectorChunk all() const { return {definition, repetition, values, component, null_component, values.size(), 0}; }
};

RowFault fault_of(const VectorColumn& column) { return column.fault().value_or(RowFault{999, "no fault"}); }

RowFault fault_of(const Entries& entries) {
  LargeVector<float> out;
  VectorColumn column(out, 10, 1000);
  if (column.add(entries.all())) column.finish_group();
  return fault_of(column);
}

RC_GTEST_PROP(VectorColumn, GivesTheSameRowsHoweverTheEntriesAreCut, ()) {
  const auto width = *rc::gen::inRange<std::size_t>(1, 9);
  const auto rows = *rc::gen::inRange<std::size_t>(1, 30);
  Entries entries;
  for (std::size_t row = 0; row < rows; ++row) entries.add_row(width);
  LargeVector<float> out;
  VectorColumn column(out, rows, rows * width);
  for (std::size_t first = 0; first < entries.values.size();) {
    const auto last = std::min(entries.values.size(), first + *rc::gen::inRange<std::size_t>(1, 40));
    RC_ASSERT(column.add(entries.chunk(first, last)));
    first = last;
  }
  RC_ASSERT(column.finish_group());
  RC_ASSERT(column.width() == width);
  RC_ASSERT(column.rows() == rows);
  RC_ASSERT(std::ranges::equal(out, entries.values));
}

RC_GTEST_PROP(VectorColumn, GivesTheSameRowsWhereverTheyAreDecoded, ()) {
  const auto width = *rc::gen::inRange<std::size_t>(1, 9);
  const auto rows = *rc::gen::inRange<std::size_t>(1, 30);
  Entries entries;
  for (std::size_t row = 0; row < rows; ++row) entries.add_row(width);
  LargeVector<float> out;
  VectorColumn column(out, *rc::gen::inRange<std::size_t>(0, rows + 2), rows * width);
  for (std::size_t first = 0; first < entries.values.size();) {
    const std::span<float> room = column.room(*rc::gen::inRange<std::size_t>(1, 40));
    const auto last = std::min(entries.values.size(), first + room.size());
    VectorChunk chunk = entries.chunk(first, last);
    const auto way = *rc::gen::inRange(0, 3);
    if (way < 2) std::ranges::copy(chunk.values, room.begin());
    if (way == 0) {
      column.add_rows(chunk.values.size(), width);
    } else if (way == 1) {
      chunk.values = room.first(chunk.values.size());
      RC_ASSERT(column.add(chunk));
    } else {
      RC_ASSERT(column.add(chunk));
    }
    first = last;
  }
  RC_ASSERT(column.finish_group());
  RC_ASSERT(column.width() == width);
  RC_ASSERT(column.rows() == rows);
  RC_ASSERT(column.all_finite());
  RC_ASSERT(std::ranges::equal(out, entries.values));
}

TEST(VectorColumn, NoticesWhatIsNotFinite) {
  for (const float odd : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    for (std::size_t at = 0; at < 6; ++at) {
      Entries entries;
      for (int row = 0; row < 2; ++row) entries.add_row(3);
      entries.values[at] = odd;
      LargeVector<float> out;
      VectorColumn column(out, 2, 100);
      ASSERT_TRUE(column.add(entries.all()));
      EXPECT_FALSE(column.all_finite());
      LargeVector<float> in_place;
      VectorColumn other(in_place, 2, 100);
      std::ranges::copy(entries.values, other.room(6).begin());
      other.add_rows(6, 3);
      EXPECT_FALSE(other.all_finite());
    }
  }
}

RC_GTEST_PROP(VectorColumn, NamesTheOneRowOfAnotherWidth, ()) {
  const auto width = *rc::gen::inRange<std::size_t>(1, 9);
  const auto other = *rc::gen::distinctFrom(rc::gen::inRange<std::size_t>(1, 20), width);
  const auto rows = *rc::gen::inRange<std::size_t>(2, 20);
  const auto odd = *rc::gen::inRange<std::size_t>(1, rows);
  Entries entries;
  for (std::size_t row = 0; row < rows; ++row) entries.add_row(row == odd ? other : width);
  const auto fault = fault_of(entries);
  RC_ASSERT(fault.row == odd);
  RC_ASSERT(fault.message ==
            "vector has " + std::to_string(other) + " components where the rows before have " + std::to_string(width));
}

TEST(VectorColumn, TellsNullEmptyAndHalfNullVectorsApart) {
  const auto message_after_a_row = [](std::int16_t level) {
    Entries entries;
    entries.add_row(2);
    entries.add(level, false);
    const auto fault = fault_of(entries);
    return fault.row == 1 ? fault.message : "no fault in row 1";
  };
  EXPECT_EQ(message_after_a_row(null_vector), "vector is null");
  EXPECT_EQ(message_after_a_row(empty_vector), "vector has 0 components where the rows before have 2");
  EXPECT_EQ(message_after_a_row(null_component), "vector has a null component (index 0)");
  Entries empty;
  empty.add(empty_vector, false);
  EXPECT_EQ(fault_of(empty).message, "vector has no components");
}

TEST(VectorColumn, NamesTheRowOfANumberTooLarge) {
  Entries entries;
  for (int row = 0; row < 5; ++row) entries.add_row(3);
  for (std::size_t index = 0; index < 15; ++index) {
    VectorChunk chunk = entries.all();
    chunk.fitting = index;
    chunk.unfit = 1e39;
    LargeVector<float> out;
    VectorColumn column(out, 5, 100);
    ASSERT_FALSE(column.add(chunk));
    EXPECT_EQ(fault_of(column).row, index / 3);
    EXPECT_EQ(fault_of(column).message, "vector holds 1e+39, too large for single precision,");
    EXPECT_EQ(out.size(), index);
  }
}

TEST(VectorColumn, KeepsRowsOfSeveralGroupsApart) {
  Entries entries;
  entries.add_row(3);
  LargeVector<float> out;
  VectorColumn column(out, 2, 100);
  EXPECT_TRUE(column.add(entries.all()));
  EXPECT_TRUE(column.finish_group());
  EXPECT_EQ(column.rows(), 1U);
  EXPECT_TRUE(column.add(entries.chunk(0, 2)));
  EXPECT_FALSE(column.finish_group());
  EXPECT_EQ(fault_of(column).row, 1U);
}

TEST(VectorColumn, RefusesAGroupThatBeginsWithinARow) {
  Entries entries;
  entries.add(component, true);
  EXPECT_THROW(fault_of(entries), std::runtime_error);
}

TEST(VectorColumn, ReservesNoMoreThanAllowed) {
  Entries entries;
  entries.add_row(4);
  LargeVector<float> out;
  VectorColumn column(out, std::numeric_limits<std::size_t>::max(), 64);
  EXPECT_TRUE(column.add(entries.all()));
  EXPECT_TRUE(column.finish_group());
  EXPECT_EQ(out.capacity(), 64U);
}

}  // namespace
}  // namespace attention_plasticity

#include "attention_plasticity/dump/head_columns.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attention_plasticity {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const Number null;
const Number beyond{std::uint64_t{1} << 63};

std::string fault(const std::function<void()>& action) {
  try {
    action();
  } catch (const BadValue& bad) {
    return bad.what();
  }
  return "none";
}

TEST(ColumnRules, BucketsAndExamplesAreCounts) {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(to_bucket(std::int64_t{0}), 0);
  EXPECT_EQ(to_bucket(largest), largest);
  EXPECT_EQ(to_example(largest), std::uint64_t{largest});
  EXPECT_EQ(fault([] { to_bucket(null); }), "is null");
  EXPECT_EQ(fault([] { to_bucket(std::int64_t{-3}); }), "is negative (-3)");
  EXPECT_EQ(fault([] { to_bucket(beyond); }), "is 9223372036854775808, beyond 2^63 - 1");
  EXPECT_EQ(fault([] { to_example(null); }), "is null");
  EXPECT_EQ(fault([] { to_example(std::int64_t{-1}); }), "is negative (-1)");
  EXPECT_EQ(fault([] { to_example(beyond); }), "is 9223372036854775808, beyond 2^63 - 1");
}

TEST(ColumnRules, PositionsAreNumbersThatADoubleTellsApart) {
  EXPECT_EQ(to_position(std::int64_t{12}), 12.0);
  EXPECT_EQ(to_position(std::int64_t{9007199254740992}), 9007199254740992.0);
  EXPECT_EQ(fault([] { to_position(std::int64_t{9007199254740993}); }), "is 9007199254740993, beyond 2^53");
  EXPECT_EQ(fault([] { to_position(beyond); }), "is 9223372036854775808, beyond 2^53");
  EXPECT_EQ(fault([] { to_position(1e300); }), "is 1e+300, beyond 2^53");
  EXPECT_EQ(to_position(0.25), 0.25);
  EXPECT_EQ(fault([] { to_position(null); }), "is null");
  EXPECT_EQ(fault([] { to_position(std::nan("")); }), "is NaN");
  EXPECT_EQ(fault([] { to_position(infinity); }), "is infinite");
  EXPECT_EQ(fault([] { to_position(-0.5); }), "is negative (-0.5)");
  EXPECT_EQ(fault([] { to_position(std::int64_t{-1}); }), "is negative (-1)");
}

TEST(ColumnRules, WindowsAreWholeTokensOrNone) {
  EXPECT_EQ(to_window(std::int64_t{512}), 512.0);
  EXPECT_EQ(to_window(511.9), 511.0);
  EXPECT_EQ(to_window(1.0), 1.0);
  EXPECT_EQ(to_window(beyond), 9223372036854775808.0);
  for (const Number& full : {null, Number{std::int64_t{0}}, Number{std::int64_t{-4}}, Number{0.5}, Number{std::nan("")},
                             Number{infinity}, Number{-infinity}}) {
    EXPECT_EQ(to_window(full), std::nullopt);
  }
}

/// The values that `rule` gives for the numbers one by one; none if it refuses one.
template <class Value, class Rule>
std::optional<std::vector<Value>> one_by_one(const NumberBatch& numbers, Rule rule) {
  std::vector<Value> values;
  try {
    for (std::size_t i = 0; i < numbers.size(); ++i) values.push_back(rule(numbers[i]));
  } catch (const BadValue&) {
    return std::nullopt;
  }
  return values;
}

template <class Value>
std::optional<std::vector<Value>> at_once(const NumberBatch& numbers,
                                          bool (*append)(const NumberBatch&, std::vector<Value>&)) {
  std::vector<Value> values;
  const bool appended = append(numbers, values);
  EXPECT_TRUE(appended || values.empty());
  return appended ? std::optional(std::vector<Value>(values.begin(), values.end())) : std::nullopt;
}

void expect_same_at_once(const NumberBatch& numbers) {
  const auto bucket = one_by_one<std::int64_t>(numbers, to_bucket);
  const auto example = one_by_one<std::uint64_t>(numbers, to_example);
  const auto position = one_by_one<double>(numbers, to_position);
  EXPECT_EQ(at_once(numbers, append_buckets), bucket);
  EXPECT_EQ(at_once(numbers, append_examples), example);
  EXPECT_EQ(at_once(numbers, append_positions), position);
}

TEST(NumberBatch, OfOneKindIsTakenAtOnceWhereEachIsAllowed) {
  using Integers = std::vector<std::int64_t>;
  using Reals = std::vector<double>;
  constexpr double inf = std::numeric_limits<double>::infinity();
  const auto largest = std::numeric_limits<std::int64_t>::max();
  for (const Integers& integers : {Integers{3, 0, 5}, Integers{3, 0, largest}, Integers{9007199254740991},
                                   Integers{1, -1, 2}, Integers{-largest - 1}}) {
    expect_same_at_once(std::span(integers));
  }
  for (const Reals& reals :
       {Reals{0.5, 0, 1e15, -0.0}, Reals{0.5, 1e300}, Reals{1, -0.5}, Reals{inf}, Reals{2, std::nan("")}}) {
    expect_same_at_once(std::span(reals));
  }
  expect_same_at_once(NumberBatch::Nulls{3});
}

TEST(NumberBatch, OfSeveralKindsIsLeftToBeTakenOneByOne) {
  const std::vector<Number> mixed{std::int64_t{1}, std::uint64_t{1} << 63};
  const NumberBatch numbers{std::span(mixed)};
  std::vector<double> positions;
  EXPECT_FALSE(append_positions(numbers, positions));
  EXPECT_FALSE(numbers.is_constant());
  EXPECT_EQ(numbers.size(), 2U);
  EXPECT_EQ(numbers[1], mixed[1]);
}

TEST(NumberBatch, KnowsWhenItIsConstant) {
  const std::vector<std::int64_t> same{5, 5, 5};
  const std::vector<std::int64_t> other{5, 5, 6};
  const std::vector<double> reals{0.5, 0.5};
  EXPECT_TRUE(NumberBatch(std::span(same)).is_constant());
  EXPECT_FALSE(NumberBatch(std::span(other)).is_constant());
  EXPECT_TRUE(NumberBatch(std::span(other).first(1)).is_constant());
  EXPECT_FALSE(NumberBatch(std::span(other).first(0)).is_constant());
  EXPECT_TRUE(NumberBatch(std::span(reals)).is_constant());
  EXPECT_TRUE(NumberBatch(NumberBatch::Nulls{2}).is_constant());
  EXPECT_FALSE(NumberBatch(NumberBatch::Nulls{}).is_constant());
}

}  // namespace
}  // namespace attention_plasticity

#include "attention_plasticity/dump/column_rules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>

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

TEST(ColumnRules, PositionsAreFiniteAndNotNegative) {
  EXPECT_EQ(to_position(std::int64_t{12}), 12.0);
  EXPECT_EQ(to_position(beyond), 9223372036854775808.0);
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

}  // namespace
}  // namespace attention_plasticity

#include "attention_plasticity/results/csv_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

namespace attention_plasticity {
namespace {

// The text of one value in a table.
std::string written(const CsvValue& value) {
  const std::vector<std::string_view> columns{"x"};
  std::string text;
  CsvText table(columns, [&](std::string_view piece) { text += piece; });
  table.add(value);
  table.end_row();
  table.finish();
  return text.substr(2, text.size() - 3);
}

TEST(CsvText, SeparatesFieldsAndRows) {
  const std::vector<std::string_view> columns{"a", "b"};
  std::string text;
  CsvText table(columns, [&](std::string_view piece) { text += piece; });
  for (const double value : {0.5, std::numeric_limits<double>::quiet_NaN()}) {
    table.add(value);
    table.add(std::int64_t{-3});
    table.end_row();
  }
  table.finish();
  EXPECT_EQ(text, "a,b\n0.5,-3\n,-3\n");
}

TEST(CsvText, IsGivenInPiecesOfWholeRows) {
  const std::vector<std::string_view> columns{"x"};
  std::string text;
  std::string expected = "x\n";
  std::size_t pieces = 0;
  std::size_t longest = 0;
  CsvText table(columns, [&](std::string_view piece) {
    EXPECT_TRUE(piece.ends_with('\n'));
    ++pieces;
    longest = std::max(longest, piece.size());
    text += piece;
  });
  for (std::uint64_t row = 0; row < 200'000; ++row) {
    table.add(row);
    table.end_row();
    expected += std::to_string(row) + '\n';
  }
  table.finish();
  EXPECT_EQ(text, expected);
  EXPECT_GT(pieces, 3U);
  EXPECT_LT(longest, 300'000U);
}

TEST(CsvText, LeavesNanEmptyWhateverItsSign) {
  EXPECT_EQ(written(std::numeric_limits<double>::quiet_NaN()), "");
  EXPECT_EQ(written(-std::numeric_limits<double>::quiet_NaN()), "");
}

TEST(CsvNumber, TakesTheShorterOfFixedAndScientific) {
  EXPECT_EQ(written(0.0), "0");
  EXPECT_EQ(written(-0.0), "-0");
  EXPECT_EQ(written(0.1), "0.1");
  EXPECT_EQ(written(1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(written(123456.0), "123456");
  EXPECT_EQ(written(1e22), "1e+22");
  EXPECT_EQ(written(-std::numeric_limits<double>::max()), "-1.7976931348623157e+308");
  EXPECT_EQ(written(std::numeric_limits<double>::denorm_min()), "5e-324");
}

TEST(CsvNumber, KeepsAllDigitsOfIntegers) {
  EXPECT_EQ(written(std::numeric_limits<std::int64_t>::max()), "9223372036854775807");
  EXPECT_EQ(written(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
}

// The number of significant digits: from the first digit that is not 0 to the last.
std::size_t digits_of(const std::string& number) {
  std::string digits;
  for (const char c : number.substr(0, number.find('e'))) {
    if (c >= '0' && c <= '9') digits += c;
  }
  const std::size_t first = digits.find_first_not_of('0');
  return first == std::string::npos ? 1 : digits.find_last_not_of('0') - first + 1;
}

std::size_t fewest_digits(double value) {
  for (int precision = 0; precision < 16; ++precision) {
    char text[40];
    std::snprintf(text, sizeof text, "%.*e", precision, value);
    if (std::strtod(text, nullptr) == value) return digits_of(text);
  }
  return 17;
}

RC_GTEST_PROP(CsvNumber, ReadsBackToTheSameDoubleAndHasNoDigitTooMany, (std::uint64_t bits)) {
  const auto value = std::bit_cast<double>(bits);
  RC_PRE(std::isfinite(value));
  const std::string text = written(value);
  double read = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), read);
  RC_ASSERT(parsed.ptr == text.data() + text.size());
  RC_ASSERT(std::bit_cast<std::uint64_t>(read) == bits);
  // A whole number without an exponent is written in full, even where zeros in place of its last digits would do.
  const bool in_full = text.find_first_of(".e") == std::string::npos;
  RC_ASSERT(in_full || digits_of(text) <= fewest_digits(value));
}

}  // namespace
}  // namespace attention_plasticity

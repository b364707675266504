#include "attention_plasticity/results/csv.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "attention_plasticity/base/refusal_testing.h"
#include "attention_plasticity/base/temporary_folder_testing.h"
#include "attention_plasticity/results/schema.h"

namespace attention_plasticity {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string refusal_of(const std::string& text) {
  return refusal([&] { parse_csv(text, "a.csv"); });
}

TEST(CsvTable, HasHeaderRowsAndLines) {
  const CsvTable table = parse_csv("layer,score\n0,1.5\n\n1,\n");
  EXPECT_EQ(table.columns, (std::vector<std::string>{"layer", "score"}));
  EXPECT_EQ(table.rows, (Rows{{"0", "1.5"}, {"1", ""}}));
  EXPECT_EQ(table.lines, (std::vector<std::size_t>{2, 4}));
  EXPECT_EQ(table.find("score"), 1U);
  EXPECT_EQ(table.find("absent"), std::nullopt);
}

TEST(CsvTable, HasWholeNumbersToTheLastDigit) {
  const CsvTable table = parse_csv("a\n9223372036854775807\n0\n 10000 \n3.0\n9007199254740993\n");
  EXPECT_EQ(table.whole_number(0, 0), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(table.whole_number(1, 0), 0);
  EXPECT_EQ(table.whole_number(2, 0), 10'000);
  EXPECT_EQ(table.whole_number(3, 0), 3);
  EXPECT_EQ(table.whole_number(4, 0), 9007199254740993);
  for (const char* text : {"-1", "9223372036854775808", "1.5", "", "x", "1e300", "nan"}) {
    EXPECT_EQ(refusal([&] { parse_csv(std::string("a,b\n") + text + ",0\n", "a.csv").whole_number(0, 0); }),
              std::string("input: a.csv: line 2, column 'a': '") + text + "' is not a whole number from 0 to 2^63 - 1");
  }
}

// The tables hold numbers of buckets and counts to the last digit, figures to the last bit.
RC_GTEST_PROP(CsvTable, ReadsBackTheExtremesOfEveryTable, ()) {
  constexpr std::array<std::int64_t, 8> integers{
      0, 1, 9'999, 10'000, 2147483648, 9007199254740993, 1LL << 62U, std::numeric_limits<std::int64_t>::max()};
  constexpr std::array<std::int64_t, 5> head_ids{0, 1, 99, 100, most_head_number};
  using Limits = std::numeric_limits<double>;
  constexpr std::array<double, 9> numbers{0.0,
                                          -0.0,
                                          0.1,
                                          Limits::denorm_min(),
                                          Limits::min(),
                                          Limits::max(),
                                          Limits::lowest(),
                                          1 - Limits::epsilon() / 2,
                                          Limits::quiet_NaN()};
  for (const ResultTable& table : result_tables()) {
    std::vector<std::string_view> names;
    for (const ResultColumn& column : table.columns) names.push_back(column.name);
    CsvText text(names);
    std::vector<std::vector<CsvValue>> rows(4);
    for (auto& row : rows) {
      for (const ResultColumn& column : table.columns) {
        if (is_head_id(column)) {
          row.emplace_back(*rc::gen::elementOf(head_ids));
        } else if (column.type == ColumnType::integer) {
          row.emplace_back(*rc::gen::elementOf(integers));
        } else {
          row.emplace_back(*rc::gen::elementOf(numbers));
        }
        text.add(row.back());
      }
      text.end_row();
    }
    const CsvTable read = parse_csv(std::move(text).text(), std::string(table.file));
    RC_ASSERT(read.rows.size() == rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t c = 0; c < names.size(); ++c) {
        if (const auto* integer = std::get_if<std::int64_t>(&rows[i][c])) {
          RC_ASSERT(read.whole_number(i, c) == *integer);
          if (is_head_id(table.columns[c])) RC_ASSERT(read.index(i, c) == *integer);
        } else {
          const double number = std::get<double>(rows[i][c]);
          const double back = read.number(i, c);
          const bool is_same =
              std::isnan(number) ? std::isnan(back) : number == back && std::signbit(number) == std::signbit(back);
          RC_ASSERT(is_same);
        }
      }
    }
  }
}

TEST(CsvTable, ReadsQuotesAndLineBreaksInside) {
  const CsvTable table = parse_csv("name,\"a \"\"b\"\", c\"\n\"x,\r\ny\n\",1\nz,\"\"\n");
  EXPECT_EQ(table.columns[1], "a \"b\", c");
  EXPECT_EQ(table.rows, (Rows{{"x,\r\ny\n", "1"}, {"z", ""}}));
  EXPECT_EQ(table.lines, (std::vector<std::size_t>{2, 5}));
}

TEST(CsvTable, TakesWindowsFilesAndAMissingLastLineBreak) {
  const CsvTable table = parse_csv("\xEF\xBB\xBFlayer , score\r\n0,\"1\"\r\n1,2");
  EXPECT_EQ(table.columns, (std::vector<std::string>{"layer", "score"}));
  EXPECT_EQ(table.rows, (Rows{{"0", "1"}, {"1", "2"}}));
}

TEST(CsvTable, RefusesBrokenTablesAndNamesTheLine) {
  EXPECT_EQ(refusal_of(""), "input: a.csv: is empty; a table with a header is needed");
  EXPECT_EQ(refusal_of("\n\n"), "input: a.csv: is empty; a table with a header is needed");
  EXPECT_EQ(refusal_of("a,b\n1,2\n3\n"), "input: a.csv: line 3: 1 fields where the header has 2");
  EXPECT_EQ(refusal_of("a,b\n\"1\n2\",2,3\n"), "input: a.csv: line 2: 3 fields where the header has 2");
  EXPECT_EQ(refusal_of("a,b, a\n"), "input: a.csv: line 1: column 'a' occurs twice");
  EXPECT_EQ(refusal_of("a\n1\n\"2\n\n"), "input: a.csv: line 3: a quote opens here and is never closed");
  EXPECT_EQ(refusal_of("a\n\"1\"x\n"), "input: a.csv: line 2: text after a closing quote; double the quotes inside");
}

TEST(CsvTable, ReadsNumbersAndGaps) {
  const CsvTable table = parse_csv("x\n 1.5 \n-2e-3\n+4\nnan\nNaN\n\"\"\n", "a.csv");
  EXPECT_EQ(table.number(0, 0), 1.5);
  EXPECT_EQ(table.number(1, 0), -0.002);
  EXPECT_EQ(table.number(2, 0), 4.0);
  for (const std::size_t row : {3U, 4U, 5U}) EXPECT_TRUE(std::isnan(table.number(row, 0)));
}

TEST(CsvTable, NamesTheFieldThatIsNotANumber) {
  for (const std::string text : {"x1", "1x", "inf", "1e999", "0x10", "+-1", "1 2"}) {
    const CsvTable table = parse_csv("id,x\n0,1\n0," + text + "\n", "a.csv");
    EXPECT_EQ(refusal([&] { table.number(2 - 1, 1); }),
              "input: a.csv: line 3, column 'x': '" + text + "' is not a finite number");
  }
}

TEST(CsvTable, ReadsIndicesAlsoAsPandasWritesThem) {
  const CsvTable table = parse_csv("i\n7\n7.0\n9999\n-1\n1.5\n10000\n\"\"\n", "a.csv");
  EXPECT_EQ(table.index(0, 0), 7);
  EXPECT_EQ(table.index(1, 0), 7);
  EXPECT_EQ(table.index(2, 0), 9999);
  for (const std::size_t row : {3U, 4U, 5U}) EXPECT_THROW(table.index(row, 0), Error);
  // A line with only a pair of quotes is a row of one empty field.
  EXPECT_EQ(refusal([&] { table.index(6, 0); }),
            "input: a.csv: line 8, column 'i': '' is not a whole number from 0 to "
            "9999");
}

TEST(CsvTable, ShowsOddTextOnOneLine) {
  const CsvTable table = parse_csv("x,y\n\"a\nb\x01\",0\n", "a.csv");
  EXPECT_EQ(refusal([&] { table.number(0, 0); }),
            "input: a.csv: line 2, column 'x': 'a\\nb\\x01' is not a finite number");
}

TEST(CsvTable, IsReadFromAFile) {
  const TemporaryFolder folder;
  EXPECT_EQ(refusal([&] { read_csv(folder / "a.csv"); }),
            "input: " + (folder / "a.csv").string() + ": there is no such file");
  EXPECT_EQ(refusal([&] { read_csv(folder.path()); }),
            "input: " + folder.path().string() + ": is a folder and should be a file");
}

std::string quoted(const std::string& text) {
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? "\"\"" : std::string(1, c);
  return field + "\"";
}

RC_GTEST_PROP(CsvTable, GivesBackWhatWasQuoted, (const std::vector<std::pair<std::string, std::string>>& rows)) {
  std::string text = "a,b\r\n";
  for (const auto& [first, second] : rows) text += quoted(first) + "," + quoted(second) + "\n";
  const CsvTable table = parse_csv(text);
  RC_ASSERT(table.rows.size() == rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    RC_ASSERT(table.rows[i] == (std::vector<std::string>{rows[i].first, rows[i].second}));
  }
}

RC_GTEST_PROP(CsvTable, ReadsOrRefusesAnyText, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("a1,\"\r\n\t \xEF")));
  try {
    const CsvTable table = parse_csv(text);
    for (const auto& row : table.rows) RC_ASSERT(row.size() == table.columns.size());
    RC_ASSERT(table.rows.size() == table.lines.size());
  } catch (const Error& error) {
    RC_ASSERT(error.kind() == ErrorKind::input);
  }
}

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

#include "attention_plasticity/base/text.h"

#include <gtest/gtest.h>

#include <string>

namespace attention_plasticity {
namespace {

TEST(ShownText, StaysOnOneLineAndIsCut) {
  EXPECT_EQ(shown_text("plain ümlaut"), "plain ümlaut");
  EXPECT_EQ(shown_text(""), "''");
  EXPECT_EQ(shown_text("a\nb\x01\x7f"), "a\\nb\\x01\\x7f");
  EXPECT_EQ(shown_text("a\xc2\x9b"
                       "31m"),
            "a\\u009b31m")
      << "a control beyond ASCII";
  EXPECT_EQ(shown_text("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(shown_text(std::string(100, 'x')), std::string(80, 'x') + "...");
  EXPECT_EQ(shown_text(std::string(79, 'x') + "ü"), std::string(79, 'x') + "...") << "no half of a character";
}

TEST(QuotedText, HasOnePairOfQuotes) {
  EXPECT_EQ(quoted_text("a b"), "'a b'");
  EXPECT_EQ(quoted_text(""), "''");
}

TEST(TrimmedText, LosesBlanksAndTabsAtItsEnds) {
  EXPECT_EQ(trimmed_text(" \t a b\t "), "a b");
  EXPECT_EQ(trimmed_text(" \t"), "");
  EXPECT_EQ(trimmed_text(""), "");
}

TEST(LineNumber, CountsFromOne) {
  EXPECT_EQ(line_number("a\nb\n", 0), 1U);
  EXPECT_EQ(line_number("a\nb\n", 1), 1U);
  EXPECT_EQ(line_number("a\nb\n", 2), 2U);
}

TEST(SizeText, TakesTheUnitThatFits) {
  EXPECT_EQ(size_text(0), "0.0 KiB");
  EXPECT_EQ(size_text(1536), "1.5 KiB");
  EXPECT_EQ(size_text(1U << 20U), "1.0 MiB");
  EXPECT_EQ(size_text(5ULL << 30U), "5.0 GiB");
  EXPECT_EQ(size_text(~std::uint64_t{0}), "16777216.0 TiB");
}

TEST(LowerCase, LeavesAllButLettersOfAsciiAlone) {
  EXPECT_EQ(lower_case("Content-LENGTH Ü[1]"), "content-length Ü[1]");
}

}  // namespace
}  // namespace attention_plasticity

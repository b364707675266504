#include "attention_plasticity/base/text.h"

#include <gtest/gtest.h>

#include <string>

namespace attention_plasticity {
namespace {

TEST(ShownText, StaysOnOneLineAndIsCut) {
  EXPECT_EQ(shown_text("plain ümlaut"), "plain ümlaut");
  EXPECT_EQ(shown_text(""), "''");
  EXPECT_EQ(shown_text("a\nb\x01\x7f"), "a\\nb\\x01\\x7f");
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

}  // namespace
}  // namespace attention_plasticity

#include "attention_plasticity/base/printable.h"

#include <gtest/gtest.h>

#include <string>

#include "attention_plasticity/base/text_table.h"
#include "attention_plasticity/base/utf8.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

TEST(PrintableText, LeavesLettersOfAllScriptsAlone) {
  for (const char* text : {"", "l00h00q", "café ümlaut", "模型", "\xf0\x9f\xa6\x99 llama", "a\\x1b"}) {
    EXPECT_EQ(printable_text(text), text);
  }
}

TEST(PrintableText, SpellsOutWhatATerminalObeys) {
  EXPECT_EQ(printable_text("\x1b]0;pwned\x07\x1b[2J"), "\\x1b]0;pwned\\x07\\x1b[2J");
  EXPECT_EQ(printable_text("a\rb\tc\nd\x7f"), "a\\x0db\\x09c\\nd\\x7f");
  EXPECT_EQ(printable_text(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable_text("\xc2\x9b"
                           "31m"),
            "\\u009b31m")
      << "the one-character form of ESC [";
}

TEST(PrintableText, SpellsOutWhatHidesOrReorders) {
  EXPECT_EQ(printable_text("safe\u202egpj.exe"), "safe\\u202egpj.exe");
  EXPECT_EQ(printable_text("\u2066x\u2069"), "\\u2066x\\u2069");
  EXPECT_EQ(printable_text("a\u200bb\ufeffc\u2028d"), "a\\u200bb\\ufeffc\\u2028d");
  EXPECT_EQ(printable_text("\U000e0041"), "\\U000e0041");
}

TEST(PrintableText, SpellsOutBytesThatAreNotUtf8) {
  EXPECT_EQ(printable_text("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(printable_text("\xc3\xbc\xc3"), "\xc3\xbc\\xc3") << "a character that is cut off";
  EXPECT_EQ(printable_text("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(printable_text("\xc1\xbf"), "\\xc1\\xbf") << "an overlong form";
}

TEST(PrintableText, OfAnyTwoBytesIsPrintableAndStays) {
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const std::string text{static_cast<char>(a), static_cast<char>(b)};
      const std::string shown = printable_text(text);
      EXPECT_TRUE(is_utf8(shown));
      EXPECT_EQ(printable_text(shown), shown);
      for (const char c : shown) ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
    }
  }
}

TEST(PrintableLines, KeepLineBreaksAndTabs) { EXPECT_EQ(printable_lines("a\tb\n\x1b\n"), "a\tb\n\\x1b\n"); }

TEST(PrintableJson, EscapesAsJsonDoes) {
  EXPECT_EQ(printable_json("{\"a\": \"\xc2\x9b\x7f\u202e\"}"), R"({"a": "\u009b\u007f\u202e"})");
  EXPECT_EQ(printable_json("\"\U000e0041\""), R"("\udb40\udc41")");
  EXPECT_EQ(printable_json("[\"ümlaut\"]\n"), "[\"ümlaut\"]\n");
}

TEST(Error, IsPrintableAndKeepsTheNameOfItsFile) {
  const Error error(ErrorKind::input, "sub-folder \x1b[31mX\n", "/tmp/\x1b[31mX");
  EXPECT_STREQ(error.what(), "sub-folder \\x1b[31mX\\n");
  EXPECT_EQ(error.file(), "/tmp/\x1b[31mX");
}

TEST(TextTable, AlignsPrintableFields) {
  EXPECT_EQ(text_table({{"ümlaut", "1"}, {"a\x1b", "2"}}), "ümlaut  1\na\\x1b   2\n");
}

}  // namespace
}  // namespace attention_plasticity

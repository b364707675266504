#include "attention_plasticity/dump/footer_scan.h"

#include <gtest/gtest.h>

#include <string>

#include "attention_plasticity/dump/crafted_parquet_testing.h"

namespace attention_plasticity {
namespace {

std::span<const std::uint8_t> bytes_in(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// The memory of a footer beside its own bytes.
std::uint64_t memory_of(const std::string& footer) { return scan_footer(bytes_in(footer)) - 2 * footer.size(); }

std::string problem(const std::string& footer) {
  try {
    scan_footer(bytes_in(footer));
  } catch (const std::runtime_error& bad) {
    return bad.what();
  }
  return "none";
}

TEST(FooterScan, AddsUpTheMemoryOfLists) {
  const std::string element = ThriftText().i32(1, -7).done();
  EXPECT_EQ(memory_of(ThriftText().i64(1, 5).done()), 0U);
  EXPECT_EQ(memory_of(ThriftText().list(2, 12, 2, element + element).done()), 2 * 320U);
  const std::string group = ThriftText().list(1, 12, 3, element + element + element).done();
  EXPECT_EQ(memory_of(ThriftText().list(4, 12, 2, group + group).done()), 2 * 256U + 6 * 1536U);
  EXPECT_EQ(memory_of(ThriftText().list(5, 12, 1, group).done()), 112U + 3 * 112U);
}

TEST(FooterScan, SkipsEveryType) {
  const std::string text = ThriftText()
                               .raw(1, 3, "x")                            // a byte
                               .raw(3, 7, "12345678")                     // a double
                               .raw(4, 13, "0123456789abcdef")            // a UUID
                               .raw(5, 11, std::string(1, '\0'))          // an empty map
                               .raw(6, 11, "\x02\x85\x01k\x02\x01k\x04")  // a map from text to i32
                               .list(7, 1, 3, "\x01\x02\x01")             // booleans
                               .raw(8, 10, "\x25\x02\x04")                // a set of i32
                               .boolean(9, true)
                               .structure(40, ThriftText().text(1, "not looked at").done())
                               .raw(41, 4, ThriftText::zigzag(-300))  // a short
                               .done();
  EXPECT_EQ(memory_of(text), (2 + 3 + 2) * 112U);
}

TEST(FooterScan, RefusesFootersThatAreCutShortAnywhere) {
  const std::string text =
      ThriftText().i32(1, 1 << 20).text(2, "abc").list(3, 12, 1, ThriftText().i64(1, 5).done()).done();
  EXPECT_EQ(problem(text), "none");
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_NE(problem(text.substr(0, length)), "none") << length;
  }
}

TEST(FooterScan, RefusesNestingAndLies) {
  std::string deep = ThriftText().done();
  for (int level = 0; level < 23; ++level) deep = ThriftText().structure(1, deep).done();
  EXPECT_EQ(problem(deep), "none");
  EXPECT_EQ(problem(ThriftText().structure(1, deep).done()), "is nested too deeply");
  EXPECT_EQ(problem(std::string(100000, '\x1C')), "is nested too deeply");
  EXPECT_EQ(problem(std::string(100000, '\x19')), "is nested too deeply");
  EXPECT_EQ(problem(ThriftText().list(1, 5, std::size_t{1} << 40, "").done()),
            "holds a list of more elements than bytes");
  EXPECT_EQ(problem(ThriftText().raw(1, 14, "").done()), "holds a field of an unknown type");
  EXPECT_EQ(problem(ThriftText().raw(1, 6, std::string(11, '\xFF')).done()), "holds a number that is too long");
}

TEST(FooterScan, ReadsTheFirstFieldsOfAPage) {
  const std::string plain = ThriftText().i32(1, 0).i32(2, 1 << 20).i32(3, 7).structure(5, ThriftText().done()).done();
  EXPECT_EQ(read_page_start(bytes_in(plain)).uncompressed_bytes, 1 << 20);
  EXPECT_FALSE(read_page_start(bytes_in(plain)).has_checksum);
  const std::string checked = ThriftText().i32(1, 2).i32(2, 9).i32(3, 9).i32(4, -5).i32(7, 1).done();
  EXPECT_EQ(read_page_start(bytes_in(checked)).uncompressed_bytes, 9);
  EXPECT_TRUE(read_page_start(bytes_in(checked)).has_checksum);
  EXPECT_THROW(read_page_start(bytes_in(plain.substr(0, 3))), BadThrift);
}

}  // namespace
}  // namespace attention_plasticity

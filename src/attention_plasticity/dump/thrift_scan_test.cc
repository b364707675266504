#include "attention_plasticity/dump/thrift_scan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attention_plasticity/dump/crafted_parquet_testing.h"

namespace attention_plasticity {
namespace {

/// Writes what it meets, one line each.
class Log final : public ThriftVisitor {
 public:
  std::vector<std::string> lines;

  void on_i32(Path path, std::int32_t value) override { add("i32", path, std::to_string(value)); }
  void on_i64(Path path, std::int64_t value) override { add("i64", path, std::to_string(value)); }
  void on_bool(Path path, bool value) override { add("bool", path, value ? "yes" : "no"); }
  void on_struct(Path path) override { add("struct", path, ""); }
  void on_list(Path path, std::uint64_t size) override { add("list", path, std::to_string(size)); }

 private:
  void add(const std::string& what, Path path, const std::string& value) {
    std::string line = what;
    for (const std::int16_t field : path) line += " " + std::to_string(field);
    lines.push_back(value.empty() ? line : line + ": " + value);
  }
};

std::span<const std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::vector<std::string> lines_of_scan(const std::string& text) {
  Log log;
  EXPECT_EQ(scan_thrift(bytes_of(text), log), text.size());
  return log.lines;
}

std::string problem(const std::string& text) {
  Log log;
  try {
    scan_thrift(bytes_of(text), log);
  } catch (const BadThrift& bad) {
    return bad.what();
  }
  return "none";
}

using Lines = std::vector<std::string>;

TEST(ThriftScan, NamesFieldsByTheirPath) {
  const std::string inner = ThriftText().i32(1, -7).boolean(2, true).boolean(40, false).done();
  const std::string text = ThriftText()
                               .i64(1, std::int64_t{1} << 62)
                               .structure(3, inner)
                               .list(4, 12, 2, inner + ThriftText().i32(9, 5).done())
                               .text(5, "not looked at")
                               .i32(100, 2147483647)
                               .done();
  EXPECT_EQ(lines_of_scan(text),
            (Lines{"struct", "i64 1: 4611686018427387904", "struct 3", "i32 3 1: -7", "bool 3 2: yes", "bool 3 40: no",
                   "list 4: 2", "struct 4", "i32 4 1: -7", "bool 4 2: yes", "bool 4 40: no", "struct 4", "i32 4 9: 5",
                   "i32 100: 2147483647"}));
}

TEST(ThriftScan, SkipsEveryOtherType) {
  const std::string text = ThriftText()
                               .raw(1, 3, "x")                            // a byte
                               .raw(2, 4, ThriftText::zigzag(-300))       // a short
                               .raw(3, 7, "12345678")                     // a double
                               .raw(4, 13, "0123456789abcdef")            // a UUID
                               .raw(5, 11, std::string(1, '\0'))          // an empty map
                               .raw(6, 11, "\x02\x85\x01k\x02\x01k\x04")  // a map from text to i32
                               .list(7, 1, 3, "\x01\x02\x01")             // booleans
                               .raw(8, 10, "\x25\x02\x04")                // a set of i32
                               .i32(9, 1)
                               .done();
  EXPECT_EQ(lines_of_scan(text), (Lines{"struct", "list 6: 2", "i32 6: 1", "i32 6: 2", "list 7: 3", "list 8: 2",
                                        "i32 8: 1", "i32 8: 2", "i32 9: 1"}));
}

TEST(ThriftScan, TakesTheLowerHalfOfALongNumberAsThriftDoes) {
  EXPECT_EQ(lines_of_scan(ThriftText().raw(1, 5, ThriftText::varint((std::uint64_t{1} << 32) + 6)).done()),
            (Lines{"struct", "i32 1: 3"}));
}

TEST(ThriftScan, RefusesWhatIsCutShortAnywhere) {
  const std::string text =
      ThriftText().i32(1, 1 << 20).text(2, "abc").list(3, 12, 1, ThriftText().i64(1, 5).done()).done();
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_NE(problem(text.substr(0, length)), "none") << length;
  }
  EXPECT_EQ(problem(""), "ends early");
}

TEST(ThriftScan, RefusesNestingAndLies) {
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
  EXPECT_EQ(problem(std::string("\x05") + ThriftText::zigzag(70000)), "holds a field of an impossible number");
}

}  // namespace
}  // namespace attention_plasticity

// Whatever happened to a file's bytes, reading it gives rows or an Error.

#include <arrow/api.h>
#include <gtest/gtest.h>

#include <random>

#include "attention_plasticity/dump/head_file.h"
#include "attention_plasticity/dump/head_file_writer.h"
#include "attention_plasticity/dump/odd_parquet_testing.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

HeadRows some_rows() {
  HeadRows rows;
  rows.width = 3;
  for (std::size_t row = 0; row < 20; ++row) {
    rows.bucket.push_back(static_cast<std::int64_t>(row / 4));
    rows.example.push_back(row % 3);
    rows.position.push_back(static_cast<double>(row));
    for (int i = 0; i < 3; ++i) rows.vectors.push_back(static_cast<float>(row) / 7 + static_cast<float>(i));
  }
  return rows;
}

std::string valid_file(const fs::path& file, bool checksums) {
  WriteOptions options;
  options.checksums = checksums;
  options.rows_per_group = 8;
  write_head_file(file, some_rows(), options);
  return read_bytes(file);
}

/// The message, empty when the rows were read. Anything but an Error escapes and fails the test.
std::string message_of(const fs::path& file, const std::string& bytes) {
  write_bytes(file, bytes);
  try {
    const HeadRows rows = read_head_file(file, Side::query).rows;
    EXPECT_EQ(rows.vectors.size(), rows.size() * rows.width);
    EXPECT_EQ(rows.bucket.size(), rows.size());
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_EQ(error.file(), file.string());
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message;
  }
  return "";
}

std::string with_flipped_bit(std::string bytes, std::size_t bit) {
  bytes[bit / 8] = static_cast<char>(static_cast<unsigned char>(bytes[bit / 8]) ^ (1U << (bit % 8)));
  return bytes;
}

std::size_t footer_start(const std::string& bytes) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    length |= std::size_t{static_cast<unsigned char>(bytes[bytes.size() - 8 + i])} << (8 * i);
  }
  return bytes.size() - 8 - length;
}

TEST(DamagedFile, CutAnywhereIsTruncated) {
  const TemporaryFolder folder;
  const std::string bytes = valid_file(folder / "data.parquet", true);
  for (std::size_t length = 1; length < bytes.size(); length += length < 64 ? 1 : 3) {
    ASSERT_EQ(message_of(folder / "data.parquet", bytes.substr(0, length)),
              "the Parquet file is truncated: it ends after " + std::to_string(length) +
                  " bytes without its footer; download or capture this head again");
  }
}

TEST(DamagedFile, WithoutItsMiddleIsDamaged) {
  const TemporaryFolder folder;
  const std::string bytes = valid_file(folder / "data.parquet", false);
  for (std::size_t removed = 1; removed + 12 < bytes.size(); removed += 7) {
    const std::string message = message_of(folder / "data.parquet", bytes.substr(0, 4) + bytes.substr(4 + removed));
    ASSERT_NE(message.find("the file is damaged; download or capture this head again"), std::string::npos) << message;
  }
}

TEST(DamagedFile, WrongChecksumNamesTheColumn) {
  const TemporaryFolder folder;
  // One column after the other, uncompressed: the last bytes before the next column belong to its last page.
  OddFormat format;
  format.checksums = true;
  format.dictionary = false;
  for (const bool page_v2 : {false, true}) {
    format.page_v2 = page_v2;
    write_parquet(folder / "data.parquet", four_rows(), format);
    const std::string bytes = read_bytes(folder / "data.parquet");
    const std::string sevens(std::string("\x07\0\0\0\x07\0\0\0\x08\0\0\0\x08\0\0\0", 16));  // example_id
    const std::size_t place = bytes.find(sevens);
    ASSERT_NE(place, std::string::npos);
    EXPECT_EQ(message_of(folder / "data.parquet", with_flipped_bit(bytes, 8 * place)),
              "a page of column 'example_id' has a wrong checksum: the file is damaged; download or capture this head "
              "again");
    const std::string components("\0\0\xe0\x40", 4);  // 7.0F, the last component
    EXPECT_EQ(message_of(folder / "data.parquet", with_flipped_bit(bytes, 8 * bytes.find(components) + 17)),
              "a page of column 'vector' has a wrong checksum: the file is damaged; download or capture this head "
              "again");
  }
}

TEST(DamagedFile, ChecksumsCatchEveryFlipInThePages) {
  const TemporaryFolder folder;
  const std::string bytes = valid_file(folder / "data.parquet", true);
  const HeadRows original = some_rows();
  std::mt19937_64 random(7);  // the same flips every time; NOLINT(bugprone-random-generator-seed)
  std::uniform_int_distribution<std::size_t> any_bit(32, footer_start(bytes) * 8 - 1);
  int wrong_checksums = 0;
  for (int flip = 0; flip < 1000; ++flip) {
    const std::size_t bit = any_bit(random);
    const std::string message = message_of(folder / "data.parquet", with_flipped_bit(bytes, bit));
    if (message.find("wrong checksum") != std::string::npos) ++wrong_checksums;
    // A flip in a page's header may do no harm; then the rows must be right.
    if (message.empty()) {
      ASSERT_EQ(read_head_file(folder / "data.parquet", Side::query).rows.vectors, original.vectors) << "bit " << bit;
    }
  }
  EXPECT_GT(wrong_checksums, 200);
}

TEST(DamagedFile, FlipsInTheFooterNeverEscape) {
  const TemporaryFolder folder;
  OddFormat format;
  format.arrow_schema = false;
  format.rows_per_group = 2;
  write_parquet(folder / "data.parquet", four_rows(), format);
  const std::string bytes = read_bytes(folder / "data.parquet");
  int refused = 0;
  int rows_contradict = 0;
  for (std::size_t bit = footer_start(bytes) * 8; bit < bytes.size() * 8; bit += 3) {
    const std::string message = message_of(folder / "data.parquet", with_flipped_bit(bytes, bit));
    if (!message.empty()) ++refused;
    if (message.find("and the footer says") != std::string::npos) ++rows_contradict;
  }
  EXPECT_GT(refused, 500);
  EXPECT_GT(rows_contradict, 0);
}

TEST(DamagedFile, FlipsAnywhereNeverEscape) {
  const TemporaryFolder folder;
  std::mt19937_64 random(11);  // the same flips every time; NOLINT(bugprone-random-generator-seed)
  for (const bool page_v2 : {false, true}) {
    for (const OddEncoding encoding : {OddEncoding::automatic, OddEncoding::delta_and_byte_stream_split}) {
      OddFormat format;
      format.page_v2 = page_v2;
      format.encoding = encoding;
      format.dictionary = encoding == OddEncoding::automatic;
      format.arrow_schema = false;
      write_parquet(folder / "data.parquet", four_rows(), format);
      const std::string bytes = read_bytes(folder / "data.parquet");
      std::uniform_int_distribution<std::size_t> any_bit(0, bytes.size() * 8 - 1);
      for (int flip = 0; flip < 400; ++flip) {
        std::string flipped = with_flipped_bit(bytes, any_bit(random));
        if (flip % 2 == 0) flipped = with_flipped_bit(std::move(flipped), any_bit(random));
        message_of(folder / "data.parquet", flipped);
      }
    }
  }
}

}  // namespace
}  // namespace attention_plasticity

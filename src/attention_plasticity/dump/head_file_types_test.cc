// Every type, layout, codec and encoding a dump may come in gives the same rows.

#include <arrow/api.h>
#include <arrow/util/compression.h>
#include <gtest/gtest.h>

#include <sstream>

#include "attention_plasticity/dump/head_file.h"
#include "attention_plasticity/dump/odd_parquet_testing.h"

namespace attention_plasticity {
namespace {

constexpr std::size_t row_count = 100;
constexpr std::size_t width = 5;

// Multiples of 1/8 below 128: exact in half, float and double.
float component(std::size_t row, std::size_t i) {
  return static_cast<float>((row * 7 + i * 13) % 2000) / 8.0F - 125.0F;
}

std::string vectors_json() {
  std::ostringstream text;
  for (std::size_t row = 0; row < row_count; ++row) {
    text << (row == 0 ? "[[" : ",[");
    for (std::size_t i = 0; i < width; ++i) text << (i == 0 ? "" : ",") << component(row, i);
    text << "]";
  }
  return text.str() + "]";
}

std::string constant_json(const std::string& value) {
  std::string text = "[" + value;
  for (std::size_t row = 1; row < row_count; ++row) text += "," + value;
  return text + "]";
}

struct Types {
  std::shared_ptr<arrow::DataType> bucket = arrow::int32();
  std::shared_ptr<arrow::DataType> example = arrow::int32();
  std::shared_ptr<arrow::DataType> position = arrow::int32();
  std::shared_ptr<arrow::DataType> vector = arrow::fixed_size_list(arrow::float32(), width);
  bool nullable = true;
};

void write(const std::filesystem::path& file, const Types& types, const OddFormat& format = {}) {
  write_parquet(file,
                {{"token_str", array_of(arrow::utf8(), constant_json("\"a\"")), true},
                 {"position", array_of(types.position, json_range(row_count, 20)), types.nullable},
                 {"vector", array_of(types.vector, vectors_json()), types.nullable},
                 {"bucket", array_of(types.bucket, json_range(row_count)), types.nullable},
                 {"example_id", array_of(types.example, json_range(row_count, 3)), types.nullable}},
                format);
}

void expect_same_rows(const std::filesystem::path& file) {
  const HeadRows rows = read_head_file(file, Side::query).rows;
  ASSERT_EQ(rows.size(), row_count);
  ASSERT_EQ(rows.width, width);
  ASSERT_EQ(rows.vectors.size(), row_count * width);
  ASSERT_EQ(rows.bucket.size(), row_count);
  ASSERT_EQ(rows.example.size(), row_count);
  EXPECT_FALSE(rows.window);
  for (std::size_t row = 0; row < row_count; ++row) {
    ASSERT_EQ(rows.bucket[row], static_cast<std::int64_t>(row));
    ASSERT_EQ(rows.example[row], row + 3);
    ASSERT_EQ(rows.position[row], static_cast<double>(row + 20));
    for (std::size_t i = 0; i < width; ++i) ASSERT_EQ(rows.row(row)[i], component(row, i)) << row << " " << i;
  }
}

std::vector<std::shared_ptr<arrow::DataType>> integer_types() {
  return {arrow::int8(),  arrow::int16(),  arrow::int32(),  arrow::int64(),
          arrow::uint8(), arrow::uint16(), arrow::uint32(), arrow::uint64()};
}

TEST(HeadFileTypes, EveryIntegerTypeReadsAlike) {
  const TemporaryFolder folder;
  for (const auto& type : integer_types()) {
    SCOPED_TRACE(type->ToString());
    Types types;
    types.bucket = types.example = types.position = type;
    for (const bool nullable : {true, false}) {
      types.nullable = nullable;
      write(folder / "data.parquet", types);
      expect_same_rows(folder / "data.parquet");
    }
  }
}

TEST(HeadFileTypes, PositionsMayBeHalfFloatOrDouble) {
  const TemporaryFolder folder;
  for (const auto& type : {arrow::float16(), arrow::float32(), arrow::float64()}) {
    SCOPED_TRACE(type->ToString());
    Types types;
    types.position = type;
    write(folder / "data.parquet", types);
    expect_same_rows(folder / "data.parquet");
  }
}

TEST(HeadFileTypes, EveryListOfEveryPrecisionReadsAlike) {
  const TemporaryFolder folder;
  for (const auto& type : {arrow::float16(), arrow::float32(), arrow::float64()}) {
    for (const bool nullable : {true, false}) {
      const auto element = arrow::field("element", type, nullable);
      for (const auto& list :
           {arrow::fixed_size_list(element, width), arrow::list(element), arrow::large_list(element)}) {
        for (const bool arrow_schema : {true, false}) {
          SCOPED_TRACE(list->ToString());
          Types types;
          types.vector = list;
          types.nullable = nullable;
          OddFormat format;
          format.arrow_schema = arrow_schema;
          write(folder / "data.parquet", types, format);
          expect_same_rows(folder / "data.parquet");
        }
      }
    }
  }
}

TEST(HeadFileTypes, DictionaryColumnsReadAsTheirValues) {
  const TemporaryFolder folder;
  Types types;
  types.bucket = arrow::dictionary(arrow::int8(), arrow::int64());
  types.example = arrow::dictionary(arrow::int32(), arrow::uint32());
  types.position = arrow::dictionary(arrow::int32(), arrow::float64());
  write(folder / "data.parquet", types);
  expect_same_rows(folder / "data.parquet");
}

TEST(HeadFileTypes, EveryCodecPageVersionAndEncodingReadsAlike) {
  const TemporaryFolder folder;
  int files = 0;
  for (const std::string codec : {"uncompressed", "snappy", "gzip", "brotli", "lz4_raw", "lz4_hadoop", "zstd"}) {
    const auto type = arrow::util::Codec::GetCompressionType(codec);
    if (!type.ok() || !arrow::util::Codec::IsAvailable(*type)) continue;
    for (const bool page_v2 : {false, true}) {
      for (const auto encoding :
           {OddEncoding::automatic, OddEncoding::plain, OddEncoding::delta_and_byte_stream_split}) {
        for (const std::size_t rows_per_group : {std::size_t{7}, std::size_t{1000}}) {
          SCOPED_TRACE(codec);
          OddFormat format;
          format.codec = codec;
          format.page_v2 = page_v2;
          format.encoding = encoding;
          format.dictionary = encoding == OddEncoding::automatic;
          format.rows_per_group = rows_per_group;
          format.checksums = files % 2 == 0;
          write(folder / "data.parquet", Types{}, format);
          expect_same_rows(folder / "data.parquet");
          ++files;
        }
      }
    }
  }
  EXPECT_GE(files, 18);
}

TEST(HeadFileTypes, EncodingsOfHalvesAndDoublesReadAlike) {
  const TemporaryFolder folder;
  for (const auto& type : {arrow::float16(), arrow::float64()}) {
    for (const bool dictionary : {false, true}) {
      SCOPED_TRACE(type->ToString());
      Types types;
      types.vector = arrow::list(type);
      types.position = type;
      OddFormat format;
      format.dictionary = dictionary;
      format.encoding = dictionary ? OddEncoding::automatic : OddEncoding::delta_and_byte_stream_split;
      write(folder / "data.parquet", types, format);
      expect_same_rows(folder / "data.parquet");
    }
  }
}

TEST(HeadFileTypes, RowsLongerThanABatchReadWhole) {
  const TemporaryFolder folder;
  constexpr std::size_t wide = 20000;
  const std::string row = json_range(wide);
  write_parquet(folder / "data.parquet",
                {{"bucket", array_of(arrow::int32(), "[0,1,2]")},
                 {"position", array_of(arrow::int32(), "[0,1,2]")},
                 {"vector", array_of(arrow::list(arrow::float32()), "[" + row + "," + row + "," + row + "]")}});
  const HeadRows rows = read_head_file(folder / "data.parquet", Side::key).rows;
  ASSERT_EQ(rows.width, wide);
  ASSERT_EQ(rows.size(), 3U);
  for (std::size_t i = 0; i < wide; ++i) ASSERT_EQ(rows.row(2)[i], static_cast<float>(i));
}

TEST(HeadFileTypes, ListSpellingsOfOldWritersRead) {
  const TemporaryFolder folder;
  for (const OldList spelling : {OldList::repeated_column, OldList::repeated_in_group}) {
    write_old_list(folder / "data.parquet", spelling);
    const HeadRows rows = read_head_file(folder / "data.parquet", Side::key).rows;
    EXPECT_EQ(rows.width, 2U);
    EXPECT_EQ(rows.vectors, (LargeVector<float>{0, 1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(rows.bucket, (std::vector<std::int64_t>{0, 0, 1, 1}));
    EXPECT_TRUE(rows.example.empty());
  }
}

}  // namespace
}  // namespace attention_plasticity

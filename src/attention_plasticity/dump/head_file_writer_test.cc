#include "attention_plasticity/dump/head_file_writer.h"

#include <gtest/gtest.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>
#include <rapidcheck/gtest.h>

#include "attention_plasticity/dump/head_file.h"
#include "attention_plasticity/dump/odd_parquet_testing.h"
#include "attention_plasticity/error.h"
#include "places.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

HeadRows some_rows() {
  HeadRows rows;
  rows.width = 2;
  rows.bucket = {0, 1, 1};
  rows.example = {4, 4, 5};
  rows.position = {3, 200, 255};
  rows.vectors = {0.5F, -1, 0.1F, 3, 1e-30F, 7};
  return rows;
}

void expect_equal(const HeadRows& read, const HeadRows& written) {
  EXPECT_EQ(read.width, written.width);
  EXPECT_EQ(read.bucket, written.bucket);
  EXPECT_EQ(read.example, written.example);
  EXPECT_EQ(read.position, written.position);
  EXPECT_EQ(read.vectors, written.vectors);
  EXPECT_EQ(read.window, written.window);
}

HeadRows round_trip(const HeadRows& rows, const WriteOptions& options = {}) {
  const TemporaryFolder folder;
  write_head_file(folder / "data.parquet", rows, options);
  return read_head_file(folder / "data.parquet", Side::query).rows;
}

std::string schema_of(const fs::path& file) {
  const auto reader = parquet::ParquetFileReader::OpenFile(file.string());
  const parquet::SchemaDescriptor& schema = *reader->metadata()->schema();
  std::string text;
  for (int i = 0; i < schema.num_columns(); ++i) {
    text +=
        schema.Column(i)->path()->ToDotString() + " " + parquet::TypeToString(schema.Column(i)->physical_type()) + "\n";
  }
  return text;
}

std::string output_error(const fs::path& file, const HeadRows& rows) {
  try {
    write_head_file(file, rows);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::output);
    EXPECT_TRUE(error.file() == file || error.file() == file.parent_path()) << error.file();
    return error.what();
  }
  return "no error";
}

TEST(HeadFileWriter, WritesWhatReadsBackTheSame) {
  HeadRows rows = some_rows();
  expect_equal(round_trip(rows), rows);
  rows.window = 512;
  expect_equal(round_trip(rows), rows);
  rows.example.clear();
  expect_equal(round_trip(rows), rows);
}

TEST(HeadFileWriter, WritesNumbersThatNeedMoreThanThirtyTwoBits) {
  HeadRows rows = some_rows();
  rows.bucket[1] = 1099511627776;
  rows.example[2] = (std::uint64_t{1} << 63) - 1;
  rows.position[0] = 4294967296.0;
  expect_equal(round_trip(rows), rows);
  rows.position[1] = 0.25;
  expect_equal(round_trip(rows), rows);
  rows.position[1] = 4503599627370496.5;
  expect_equal(round_trip(rows), rows);
}

RC_GTEST_PROP(HeadFileWriter, KeepsEveryRowInRowGroupsOfAnySize, ()) {
  HeadRows rows;
  rows.width = *rc::gen::inRange<std::size_t>(1, 5);
  const auto count = *rc::gen::inRange<std::size_t>(1, 40);
  for (std::size_t row = 0; row < count; ++row) {
    rows.bucket.push_back(*rc::gen::inRange(0, 9));
    rows.example.push_back(*rc::gen::inRange(0U, 9U));
    rows.position.push_back(*rc::gen::inRange(0, 4096));
    for (std::size_t i = 0; i < rows.width; ++i) rows.vectors.push_back(static_cast<float>(*rc::gen::inRange(-99, 99)));
  }
  WriteOptions options;
  options.rows_per_group = *rc::gen::inRange<std::size_t>(1, 50);
  options.checksums = *rc::gen::arbitrary<bool>();
  expect_equal(round_trip(rows, options), rows);
}

TEST(HeadFileWriter, FollowsTheFilesOfTheCaptureTool) {
  const TemporaryFolder folder;
  HeadRows rows = some_rows();
  const fs::path examples = source_folder() / "examples" / "minidoc-qwen3";
  write_head_file(folder / "key.parquet", rows);
  EXPECT_EQ(schema_of(folder / "key.parquet"), schema_of(examples / "l01h00k" / "data.parquet"));
  rows.window = 512;
  write_head_file(folder / "query.parquet", rows);
  EXPECT_EQ(schema_of(folder / "query.parquet"), schema_of(examples / "l02h02q" / "data.parquet"));
}

TEST(HeadFileWriter, KeepsADumpOfBfloat16AsSmallAsTheCaptureToolDoes) {
  const TemporaryFolder folder;
  const fs::path example = source_folder() / "examples" / "minidoc-qwen3" / "l01h00k" / "data.parquet";
  WriteOptions options;
  options.checksums = false;
  write_head_file(folder / "data.parquet", read_head_file(example, Side::key).rows, options);
  const auto written = fs::file_size(folder / "data.parquet");
  EXPECT_LE(written, fs::file_size(example) * 101 / 100);
}

TEST(HeadFileWriter, CreatesFoldersAndLeavesNothingElse) {
  const TemporaryFolder folder;
  const fs::path file = folder / "a" / "l00h00q" / "data.parquet";
  write_head_file(file, some_rows());
  write_head_file(file, some_rows());
  EXPECT_EQ(std::distance(fs::directory_iterator(file.parent_path()), fs::directory_iterator()), 1);
}

TEST(HeadFileWriter, SaysWhenItCannotWrite) {
  const TemporaryFolder folder;
  write_bytes(folder / "file", "x");
  EXPECT_EQ(output_error(folder / "file" / "data.parquet", some_rows()), "cannot make this folder: Not a directory");
  fs::create_directories(folder / "data.parquet" / "full");
  EXPECT_EQ(output_error(folder / "data.parquet", some_rows()), "cannot write this file: Is a directory");
  EXPECT_EQ(output_error(folder / std::string(300, 'x'), some_rows()), "cannot create this file: File name too long");
  EXPECT_EQ(folder.names(), (std::set<std::string>{"data.parquet", "data.parquet/full", "file"}));
}

TEST(HeadFileWriter, RefusesColumnsOfUnequalLength) {
  const TemporaryFolder folder;
  HeadRows rows = some_rows();
  rows.bucket.pop_back();
  EXPECT_EQ(
      output_error(folder / "data.parquet", rows),
      "columns of unequal length cannot be written: 3 positions, 2 buckets, 3 example ids, 6 components of vectors 2 "
      "wide");
  rows = some_rows();
  rows.vectors.pop_back();
  EXPECT_NE(output_error(folder / "data.parquet", rows), "no error");
  rows = some_rows();
  rows.example.pop_back();
  EXPECT_NE(output_error(folder / "data.parquet", rows), "no error");
}

// The encodings of the vectors, as numbers of the format, and the row groups.
std::string layout_of(const fs::path& file) {
  const auto reader = parquet::ParquetFileReader::OpenFile(file.string());
  const auto column = reader->metadata()->RowGroup(0)->ColumnChunk(3);
  std::string text = std::to_string(reader->metadata()->num_row_groups());
  for (const parquet::Encoding::type encoding : column->encodings()) text += " " + parquet::EncodingToString(encoding);
  return text;
}

TEST(HeadFileStream, WritesPieceByPiece) {
  const TemporaryFolder folder;
  const HeadRows piece = some_rows();
  HeadFileStream stream(folder / "data.parquet", {.rows_per_group = 2, .split_bytes = true});
  stream.write(piece);
  stream.write(piece);
  stream.close();
  const HeadRows read = read_head_file(folder / "data.parquet", Side::query).rows;
  HeadRows both = piece;
  both.bucket.insert(both.bucket.end(), piece.bucket.begin(), piece.bucket.end());
  both.example.insert(both.example.end(), piece.example.begin(), piece.example.end());
  both.position.insert(both.position.end(), piece.position.begin(), piece.position.end());
  both.vectors.insert(both.vectors.end(), piece.vectors.begin(), piece.vectors.end());
  expect_equal(read, both);
  EXPECT_TRUE(has_page_checksums(folder / "data.parquet"));
  EXPECT_EQ(layout_of(folder / "data.parquet"), "4 RLE BYTE_STREAM_SPLIT");
}

}  // namespace
}  // namespace attention_plasticity

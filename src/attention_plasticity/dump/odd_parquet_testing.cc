#include "attention_plasticity/dump/odd_parquet_testing.h"

#include <arrow/array.h>
#include <arrow/io/file.h>
#include <arrow/json/from_string.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <arrow/util/compression.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>
#include <parquet/column_writer.h>
#include <parquet/exception.h>
#include <parquet/file_writer.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

#include "attention_plasticity/error.h"

namespace attention_plasticity {

namespace fs = std::filesystem;

std::shared_ptr<arrow::Array> array_of(const std::shared_ptr<arrow::DataType>& type, const std::string& json) {
  if (type->id() == arrow::Type::DICTIONARY) {
    // Every value is its own entry of the dictionary.
    const auto values = array_of(static_cast<const arrow::DictionaryType&>(*type).value_type(), json);
    const auto indices = json_range(static_cast<std::size_t>(values->length()));
    const auto codes = array_of(static_cast<const arrow::DictionaryType&>(*type).index_type(), indices);
    PARQUET_ASSIGN_OR_THROW(auto array, arrow::DictionaryArray::FromArrays(type, codes, values));
    return array;
  }
  PARQUET_ASSIGN_OR_THROW(auto array, arrow::json::ArrayFromJSONString(type, json));
  return array;
}

std::string json_range(std::size_t count, int first, int step) {
  std::ostringstream text;
  for (std::size_t i = 0; i < count; ++i) text << (i == 0 ? "[" : ",") << first + static_cast<int>(i) * step;
  return count == 0 ? "[]" : text.str() + "]";
}

std::vector<OddColumn> four_rows() {
  return {{"bucket", array_of(arrow::int32(), "[0,0,1,1]")},
          {"example_id", array_of(arrow::int32(), "[7,7,8,8]")},
          {"position", array_of(arrow::int32(), "[0,1,2,3]")},
          {"vector", array_of(arrow::fixed_size_list(arrow::float32(), 2), "[[0,1],[2,3],[4,5],[6,7]]")}};
}

std::vector<OddColumn> four_rows_with(OddColumn column) {
  auto columns = four_rows();
  const auto place = std::ranges::find(columns, column.name, &OddColumn::name);
  if (place == columns.end()) {
    columns.push_back(std::move(column));
  } else {
    *place = std::move(column);
  }
  return columns;
}

std::vector<OddColumn> four_rows_without(const std::string& name) {
  auto columns = four_rows();
  std::erase_if(columns, [&](const OddColumn& column) { return column.name == name; });
  return columns;
}

namespace {

void set_encoding(parquet::WriterProperties::Builder& builder, const OddColumn& column) {
  std::string path = column.name;
  std::shared_ptr<arrow::DataType> type = column.array->type();
  if (type->num_fields() > 0) {
    path += ".list.element";
    type = type->field(0)->type();
  }
  if (type->id() == arrow::Type::DICTIONARY) type = static_cast<const arrow::DictionaryType&>(*type).value_type();
  if (arrow::is_integer(type->id())) builder.encoding(path, parquet::Encoding::DELTA_BINARY_PACKED);
  if (arrow::is_floating(type->id())) builder.encoding(path, parquet::Encoding::BYTE_STREAM_SPLIT);
}

std::shared_ptr<parquet::WriterProperties> properties(const std::vector<OddColumn>& columns, const OddFormat& format) {
  parquet::WriterProperties::Builder builder;
  PARQUET_ASSIGN_OR_THROW(const auto codec, arrow::util::Codec::GetCompressionType(format.codec));
  builder.compression(codec);
  builder.data_pagesize(static_cast<std::int64_t>(format.page_bytes));
  builder.write_batch_size(16);
  builder.version(parquet::ParquetVersion::PARQUET_2_6);
  builder.data_page_version(format.page_v2 ? parquet::ParquetDataPageVersion::V2 : parquet::ParquetDataPageVersion::V1);
  if (!format.dictionary) builder.disable_dictionary();
  if (format.checksums) builder.enable_page_checksum();
  if (format.encoding == OddEncoding::plain) builder.encoding(parquet::Encoding::PLAIN);
  if (format.encoding == OddEncoding::delta_and_byte_stream_split) {
    for (const OddColumn& column : columns) set_encoding(builder, column);
  }
  return builder.build();
}

}  // namespace

void write_parquet(const fs::path& file, const std::vector<OddColumn>& columns, const OddFormat& format) {
  std::vector<std::shared_ptr<arrow::Field>> fields;
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  for (const OddColumn& column : columns) {
    fields.push_back(arrow::field(column.name, column.array->type(), column.nullable));
    arrays.push_back(column.array);
  }
  const auto table = arrow::Table::Make(arrow::schema(fields), arrays);
  parquet::ArrowWriterProperties::Builder arrow_properties;
  if (format.arrow_schema) arrow_properties.store_schema();
  PARQUET_ASSIGN_OR_THROW(auto sink, arrow::io::FileOutputStream::Open(file.string()));
  PARQUET_THROW_NOT_OK(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), sink,
                                                  static_cast<std::int64_t>(format.rows_per_group),
                                                  properties(columns, format), arrow_properties.build()));
  PARQUET_THROW_NOT_OK(sink->Close());
}

void write_old_list(const fs::path& file, OldList spelling) {
  using parquet::Repetition;
  using parquet::schema::GroupNode;
  using parquet::schema::PrimitiveNode;
  const auto repeated = PrimitiveNode::Make("vector", Repetition::REPEATED, parquet::Type::FLOAT);
  const parquet::schema::NodeVector fields = {
      PrimitiveNode::Make("bucket", Repetition::REQUIRED, parquet::Type::INT32),
      PrimitiveNode::Make("position", Repetition::REQUIRED, parquet::Type::INT32),
      spelling == OldList::repeated_column
          ? repeated
          : GroupNode::Make("vector", Repetition::OPTIONAL,
                            {PrimitiveNode::Make("array", Repetition::REPEATED, parquet::Type::FLOAT)},
                            parquet::ConvertedType::LIST)};
  const auto schema = std::static_pointer_cast<GroupNode>(GroupNode::Make("schema", Repetition::REQUIRED, fields));
  PARQUET_ASSIGN_OR_THROW(auto sink, arrow::io::FileOutputStream::Open(file.string()));
  const auto writer = parquet::ParquetFileWriter::Open(sink, schema);
  parquet::RowGroupWriter* const group = writer->AppendRowGroup();
  const std::array<std::int32_t, 4> buckets = {0, 0, 1, 1};
  const std::array<std::int32_t, 4> positions = {0, 1, 2, 3};
  const std::array<float, 8> components = {0, 1, 2, 3, 4, 5, 6, 7};
  const std::int16_t present = spelling == OldList::repeated_column ? 1 : 2;
  const std::vector<std::int16_t> definition(8, present);
  const std::array<std::int16_t, 8> repetition = {0, 1, 0, 1, 0, 1, 0, 1};
  static_cast<parquet::Int32Writer*>(group->NextColumn())->WriteBatch(4, nullptr, nullptr, buckets.data());
  static_cast<parquet::Int32Writer*>(group->NextColumn())->WriteBatch(4, nullptr, nullptr, positions.data());
  static_cast<parquet::FloatWriter*>(group->NextColumn())
      ->WriteBatch(8, definition.data(), repetition.data(), components.data());
  writer->Close();
  PARQUET_THROW_NOT_OK(sink->Close());
}

std::string read_bytes(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write_bytes(const fs::path& file, const std::string& bytes) {
  // A new file: some file systems wait for the disk when an old one is overwritten.
  fs::remove(file);
  std::ofstream stream(file, std::ios::binary);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::string input_error(const fs::path& file, const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_EQ(error.file(), file.string());
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  return "no error";
}

}  // namespace attention_plasticity

// Any bytes as a data.parquet. What our reader takes, Arrow's own reader must take too, with the same values: our
// decoding of levels, which skips most of the work, is held against Arrow's.

#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <arrow/util/float16.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "attention_plasticity/dump/head_file.h"
#include "target.h"

namespace ap = attention_plasticity;
using ap::fuzz::require;

namespace {

constexpr std::size_t most_width = 64;

// The number at `i` of an array of numbers; none for other types and for null.
std::optional<double> number_at(const arrow::Array& array, std::int64_t i) {
  if (array.IsNull(i)) return std::nullopt;
  switch (array.type_id()) {
    case arrow::Type::INT8:
      return static_cast<const arrow::Int8Array&>(array).Value(i);
    case arrow::Type::INT16:
      return static_cast<const arrow::Int16Array&>(array).Value(i);
    case arrow::Type::INT32:
      return static_cast<const arrow::Int32Array&>(array).Value(i);
    case arrow::Type::INT64:
      return static_cast<double>(static_cast<const arrow::Int64Array&>(array).Value(i));
    case arrow::Type::UINT8:
      return static_cast<const arrow::UInt8Array&>(array).Value(i);
    case arrow::Type::UINT16:
      return static_cast<const arrow::UInt16Array&>(array).Value(i);
    case arrow::Type::UINT32:
      return static_cast<const arrow::UInt32Array&>(array).Value(i);
    case arrow::Type::UINT64:
      return static_cast<double>(static_cast<const arrow::UInt64Array&>(array).Value(i));
    case arrow::Type::HALF_FLOAT:
      return arrow::util::Float16::FromBits(static_cast<const arrow::HalfFloatArray&>(array).Value(i)).ToFloat();
    case arrow::Type::FLOAT:
      return static_cast<const arrow::FloatArray&>(array).Value(i);
    case arrow::Type::DOUBLE:
      return static_cast<const arrow::DoubleArray&>(array).Value(i);
    default:
      return std::nullopt;
  }
}

bool is_number(arrow::Type::type type) { return arrow::is_integer(type) || arrow::is_floating(type); }

// All numbers of a column, or none when Arrow makes another type of it, such as a dictionary or a date.
std::optional<std::vector<double>> numbers_of(const arrow::ChunkedArray& column) {
  if (!is_number(column.type()->id())) return std::nullopt;
  std::vector<double> numbers;
  for (const auto& chunk : column.chunks()) {
    for (std::int64_t i = 0; i < chunk->length(); ++i) {
      const auto number = number_at(*chunk, i);
      require(number.has_value());  // our reader refuses nulls
      numbers.push_back(*number);
    }
  }
  return numbers;
}

// The components of all vectors, one after the other.
std::optional<std::vector<double>> components_of(const arrow::ChunkedArray& column) {
  std::vector<double> components;
  const auto add = [&](const arrow::Array& values, std::int64_t first, std::int64_t count) {
    for (std::int64_t i = first; i < first + count; ++i) {
      const auto number = number_at(values, i);
      require(number.has_value());
      components.push_back(*number);
    }
  };
  for (const auto& chunk : column.chunks()) {
    for (std::int64_t row = 0; row < chunk->length(); ++row) {
      require(chunk->IsValid(row));
      if (chunk->type_id() == arrow::Type::LIST) {
        const auto& list = static_cast<const arrow::ListArray&>(*chunk);
        if (!is_number(list.values()->type_id())) return std::nullopt;
        add(*list.values(), list.value_offset(row), list.value_length(row));
      } else if (chunk->type_id() == arrow::Type::LARGE_LIST) {
        const auto& list = static_cast<const arrow::LargeListArray&>(*chunk);
        if (!is_number(list.values()->type_id())) return std::nullopt;
        add(*list.values(), list.value_offset(row), list.value_length(row));
      } else if (chunk->type_id() == arrow::Type::FIXED_SIZE_LIST) {
        const auto& list = static_cast<const arrow::FixedSizeListArray&>(*chunk);
        if (!is_number(list.values()->type_id())) return std::nullopt;
        add(*list.values(), list.value_offset(row), list.value_length(row));
      } else {
        return std::nullopt;
      }
    }
  }
  return components;
}

// What Arrow's own reader makes of the file; none where it knows the columns by other types. Our reader looks at the
// columns of a head only, so that others may be damaged: they are not read.
std::shared_ptr<arrow::Table> table_of_arrow(std::string_view bytes) {
  parquet::ReaderProperties properties = parquet::default_reader_properties();
  auto source = std::make_shared<arrow::io::BufferReader>(std::make_shared<arrow::Buffer>(
      reinterpret_cast<const std::uint8_t*>(bytes.data()), static_cast<std::int64_t>(bytes.size())));
  parquet::arrow::FileReaderBuilder builder;
  if (!builder.Open(source, properties).ok()) return nullptr;
  std::unique_ptr<parquet::arrow::FileReader> reader;
  if (!builder.Build(&reader).ok()) return nullptr;
  std::vector<int> columns;
  const parquet::SchemaDescriptor& schema = *reader->parquet_reader()->metadata()->schema();
  for (int leaf = 0; leaf < schema.num_columns(); ++leaf) {
    const std::string root = schema.GetColumnRoot(leaf)->name();
    if (root == "bucket" || root == "example_id" || root == "position" || root == "vector") columns.push_back(leaf);
  }
  std::shared_ptr<arrow::Table> table;
  if (!reader->ReadTable(columns, &table).ok()) return nullptr;
  return table;
}

template <typename Ours>
void compare(const arrow::Table& table, const char* name, const Ours& ours) {
  const auto column = table.GetColumnByName(name);
  if (column == nullptr) return;
  const auto theirs = numbers_of(*column);
  if (!theirs) return;
  require(theirs->size() == ours.size());
  for (std::size_t i = 0; i < ours.size(); ++i) require((*theirs)[i] == static_cast<double>(ours[i]));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = ap::fuzz::text_of(data, size);
  const ap::fuzz::MemoryFile file(bytes);
  ap::ReadOptions options;
  options.max_vector_width = most_width;
  std::optional<ap::HeadFile> ours;
  const bool taken = ap::fuzz::succeeds([&] { ours = ap::read_head_file(file.path(), ap::Side::query, options); });
  std::optional<ap::HeadTokens> tokens;
  ap::fuzz::succeeds([&] { tokens = ap::read_head_tokens(file.path(), ap::Side::query); });
  ap::fuzz::succeeds([&] { ap::read_head_footer(file.path(), most_width); });
  if (!taken) return 0;
  const ap::HeadRows& rows = ours->rows;
  require(rows.width > 0 && rows.width <= most_width && rows.vectors.size() == rows.size() * rows.width);
  require(rows.bucket.size() == rows.size() && (rows.example.empty() || rows.example.size() == rows.size()));
  if (tokens) require(tokens->bucket == rows.bucket && tokens->position == rows.position);
  const std::shared_ptr<arrow::Table> table = table_of_arrow(bytes);
  if (table == nullptr) return 0;
  compare(*table, "bucket", rows.bucket);
  compare(*table, "example_id", rows.example);
  compare(*table, "position", rows.position);
  const auto column = table->GetColumnByName("vector");
  const auto theirs = column == nullptr ? std::nullopt : components_of(*column);
  if (!theirs) return 0;
  require(theirs->size() == rows.vectors.size());
  for (std::size_t i = 0; i < theirs->size(); ++i) require(static_cast<float>((*theirs)[i]) == rows.vectors[i]);
  return 0;
}

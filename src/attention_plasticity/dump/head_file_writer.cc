#include "attention_plasticity/dump/head_file_writer.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/io/file.h>
#include <arrow/memory_pool.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <fmt/format.h>
#include <parquet/arrow/writer.h>
#include <parquet/exception.h>
#include <parquet/properties.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attention_plasticity/base/atomic_file.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

constexpr double largest_exact_integer = 9007199254740992.0;  // 2^53

struct TableParts {
  std::vector<std::shared_ptr<arrow::Field>> fields;
  std::vector<std::shared_ptr<arrow::Array>> arrays;

  void add(const std::string& name, std::shared_ptr<arrow::Array> array) {
    fields.push_back(arrow::field(name, array->type()));
    arrays.push_back(std::move(array));
  }
};

template <class Builder, class Values>
std::shared_ptr<arrow::Array> build(const Values& values) {
  Builder builder;
  PARQUET_THROW_NOT_OK(builder.Reserve(static_cast<std::int64_t>(values.size())));
  for (const auto value : values) builder.UnsafeAppend(static_cast<typename Builder::value_type>(value));
  PARQUET_ASSIGN_OR_THROW(auto array, builder.Finish());
  return array;
}

/// int32 as in the capture tool's files, int64 if a number needs it.
template <class Values>
std::shared_ptr<arrow::Array> integers(const Values& values) {
  using Value = typename Values::value_type;
  constexpr auto largest = static_cast<Value>(std::numeric_limits<std::int32_t>::max());
  const bool narrow = std::ranges::all_of(values, [](Value value) { return value <= largest; });
  return narrow ? build<arrow::Int32Builder>(values) : build<arrow::Int64Builder>(values);
}

std::shared_ptr<arrow::Array> positions(const std::vector<double>& values) {
  const bool whole = std::ranges::all_of(
      values, [](double value) { return value == std::floor(value) && value <= largest_exact_integer; });
  return whole ? integers(values) : build<arrow::DoubleBuilder>(values);
}

std::shared_ptr<arrow::Array> vectors(const HeadRows& rows) {
  if (rows.width > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw std::length_error(fmt::format("vectors of {} components are too wide", rows.width));
  }
  const auto type = arrow::fixed_size_list(arrow::float32(), static_cast<std::int32_t>(rows.width));
  // Not copied: `rows` outlives the table.
  const auto components = std::make_shared<arrow::FloatArray>(
      static_cast<std::int64_t>(rows.vectors.size()), arrow::Buffer::Wrap(rows.vectors.data(), rows.vectors.size()));
  return std::make_shared<arrow::FixedSizeListArray>(type, static_cast<std::int64_t>(rows.size()), components);
}

std::shared_ptr<arrow::Array> windows(const HeadRows& rows) {
  if (!rows.window) return std::make_shared<arrow::NullArray>(static_cast<std::int64_t>(rows.size()));
  return build<arrow::Int64Builder>(std::vector<double>(rows.size(), *rows.window));
}

std::shared_ptr<arrow::Table> to_table(const HeadRows& rows) {
  TableParts parts;
  parts.add("bucket", integers(rows.bucket));
  if (!rows.example.empty()) parts.add("example_id", integers(rows.example));
  parts.add("position", positions(rows.position));
  parts.add("vector", vectors(rows));
  parts.add("sliding_window", windows(rows));
  return arrow::Table::Make(arrow::schema(std::move(parts.fields)), parts.arrays);
}

/// Captures of bfloat16 models have at most 2^16 different components, so a dictionary halves their size. Other floats
/// hardly repeat, and a dictionary would only cost time.
bool is_bfloat16(std::span<const float> values) {
  return std::ranges::all_of(values, [](float x) { return (std::bit_cast<std::uint32_t>(x) & 0xffffU) == 0; });
}

std::shared_ptr<parquet::WriterProperties> properties(const HeadRows& rows, const WriteOptions& options) {
  parquet::WriterProperties::Builder builder;
  builder.compression(parquet::Compression::ZSTD);
  const std::string vectors = "vector.list.element";
  if (options.split_bytes || !is_bfloat16(rows.vectors)) builder.disable_dictionary(vectors);
  if (options.split_bytes) builder.encoding(vectors, parquet::Encoding::BYTE_STREAM_SPLIT);
  if (options.checksums) builder.enable_page_checksum();
  return builder.build();
}

void require_equal_lengths(const fs::path& file, const HeadRows& rows) {
  const std::size_t n = rows.size();
  if (rows.bucket.size() == n && (rows.example.empty() || rows.example.size() == n) &&
      rows.vectors.size() == n * rows.width) {
    return;
  }
  throw Error(ErrorKind::output,
              fmt::format("columns of unequal length cannot be written: {} positions, {} buckets, {} example ids, {} "
                          "components of vectors {} wide",
                          n, rows.bucket.size(), rows.example.size(), rows.vectors.size(), rows.width),
              file.string());
}

[[noreturn]] void fail_write(const fs::path& file, const std::exception& failure) {
  throw Error(ErrorKind::output, fmt::format("cannot write this file: {}", failure.what()), file.string());
}

}  // namespace

struct HeadFileStream::State {
  std::shared_ptr<arrow::io::FileOutputStream> sink;
  std::unique_ptr<parquet::arrow::FileWriter> writer;
};

HeadFileStream::HeadFileStream(fs::path file, const WriteOptions& options)
    : file_(std::move(file)), options_(options) {}

HeadFileStream::~HeadFileStream() = default;

void HeadFileStream::write(const HeadRows& rows) {
  require_equal_lengths(file_, rows);
  try {
    const std::shared_ptr<arrow::Table> table = to_table(rows);
    if (!state_) {
      state_ = std::make_unique<State>();
      PARQUET_ASSIGN_OR_THROW(state_->sink, arrow::io::FileOutputStream::Open(file_.string()));
      PARQUET_ASSIGN_OR_THROW(
          state_->writer, parquet::arrow::FileWriter::Open(
                              *table->schema(), arrow::default_memory_pool(), state_->sink, properties(rows, options_),
                              parquet::ArrowWriterProperties::Builder().store_schema()->build()));
    }
    PARQUET_THROW_NOT_OK(state_->writer->WriteTable(*table, static_cast<std::int64_t>(options_.rows_per_group)));
  } catch (const std::exception& failure) {
    fail_write(file_, failure);
  }
}

void HeadFileStream::close() {
  if (!state_) return;
  try {
    PARQUET_THROW_NOT_OK(state_->writer->Close());
    PARQUET_THROW_NOT_OK(state_->sink->Close());
  } catch (const std::exception& failure) {
    fail_write(file_, failure);
  }
  state_.reset();
}

void write_head_file(const fs::path& file, const HeadRows& rows, const WriteOptions& options) {
  require_equal_lengths(file, rows);
  AtomicFile target(file, Durability::unsynced);  // a synthetic dump can be made again
  try {
    HeadFileStream stream(target.temporary(), options);
    stream.write(rows);
    stream.close();
  } catch (const Error& failure) {
    throw Error(ErrorKind::output, failure.what(), file.string());
  }
  target.commit();
}

}  // namespace attention_plasticity

// Reads the columns that `analyze` reads, with Arrow, and does nothing with them.
//
//   decode_floor DUMP THREADS tables      with Arrow's table reader: one table for each file
//   decode_floor DUMP THREADS columns     with column readers, into memory that a thread keeps for all its files
//
// Every query file and every key file of the dump is read once. The second way has the settings of dump/parquet_file.cc
// (column readers, checksums verified); a run cannot be faster than that as long as Arrow decodes. Neither way converts
// or checks values.

#include <arrow/io/file.h>
#include <arrow/table.h>
#include <parquet/arrow/reader.h>
#include <parquet/column_reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "attention_plasticity/dump/layout.h"

namespace {

namespace ap = attention_plasticity;

struct HeadFileToRead {
  std::string path;
  bool of_queries;
};

bool is_wanted(std::string_view column, bool of_queries) {
  return column == "bucket" || column == "example_id" || column == "position" || column == "vector" ||
         (of_queries && column == "sliding_window");
}

/// The values of one column. Only the vector of the column's type is used.
struct ColumnBuffer {
  std::vector<std::int32_t> integers;
  std::vector<std::int64_t> long_integers;
  std::vector<float> floats;
  std::vector<double> doubles;
  std::size_t filled = 0;
};

class ColumnDecoder {
 public:
  void read(const HeadFileToRead& file) {
    parquet::ReaderProperties properties;
    properties.set_page_checksum_verification(true);
    PARQUET_ASSIGN_OR_THROW(auto source, arrow::io::ReadableFile::Open(file.path));
    const auto reader = parquet::ParquetFileReader::Open(std::move(source), properties);
    const parquet::SchemaDescriptor& schema = *reader->metadata()->schema();
    columns_.resize(static_cast<std::size_t>(schema.num_columns()));
    for (ColumnBuffer& column : columns_) column.filled = 0;
    for (int group = 0; group < reader->metadata()->num_row_groups(); ++group) {
      const auto row_group = reader->RowGroup(group);
      for (int leaf = 0; leaf < schema.num_columns(); ++leaf) {
        if (!is_wanted(schema.GetColumnRoot(leaf)->name(), file.of_queries)) continue;
        const std::int64_t values = row_group->metadata()->ColumnChunk(leaf)->num_values();
        read(*row_group->Column(leaf), static_cast<std::size_t>(values), columns_[static_cast<std::size_t>(leaf)]);
        values_ += static_cast<std::uint64_t>(values);
      }
    }
  }

  std::uint64_t values() const { return values_; }

 private:
  // Small enough that the definition and repetition levels of a batch stay in the cache.
  static constexpr std::size_t batch = 16384;

  void read(parquet::ColumnReader& reader, std::size_t values, ColumnBuffer& column) {
    switch (reader.type()) {
      case parquet::Type::INT32:
        return read<parquet::Int32Type>(reader, values, column.integers, column.filled);
      case parquet::Type::INT64:
        return read<parquet::Int64Type>(reader, values, column.long_integers, column.filled);
      case parquet::Type::FLOAT:
        return read<parquet::FloatType>(reader, values, column.floats, column.filled);
      case parquet::Type::DOUBLE:
        return read<parquet::DoubleType>(reader, values, column.doubles, column.filled);
      default:
        throw parquet::ParquetException("a column of a type that synth does not write");
    }
  }

  template <class Type>
  void read(parquet::ColumnReader& column, std::size_t values, std::vector<typename Type::c_type>& buffer,
            std::size_t& filled) {
    auto& reader = dynamic_cast<parquet::TypedColumnReader<Type>&>(column);
    if (buffer.size() < filled + values) buffer.resize(filled + values);
    while (reader.HasNext()) {
      const std::size_t most = std::min(batch, buffer.size() - filled);
      std::int64_t count = 0;
      reader.ReadBatch(static_cast<std::int64_t>(most), definition_.data(), repetition_.data(), buffer.data() + filled,
                       &count);
      filled += static_cast<std::size_t>(count);
    }
  }

  std::vector<std::int16_t> definition_ = std::vector<std::int16_t>(batch);
  std::vector<std::int16_t> repetition_ = std::vector<std::int16_t>(batch);
  std::vector<ColumnBuffer> columns_;
  std::uint64_t values_ = 0;
};

class TableDecoder {
 public:
  void read(const HeadFileToRead& file) {
    parquet::arrow::FileReaderBuilder builder;
    PARQUET_THROW_NOT_OK(builder.OpenFile(file.path));
    std::unique_ptr<parquet::arrow::FileReader> reader;
    PARQUET_THROW_NOT_OK(builder.Build(&reader));
    reader->set_use_threads(false);
    const parquet::SchemaDescriptor& schema = *reader->parquet_reader()->metadata()->schema();
    std::vector<int> wanted;
    for (int leaf = 0; leaf < schema.num_columns(); ++leaf) {
      if (!is_wanted(schema.GetColumnRoot(leaf)->name(), file.of_queries)) continue;
      wanted.push_back(leaf);
      for (int group = 0; group < reader->num_row_groups(); ++group) {
        values_ += static_cast<std::uint64_t>(
            reader->parquet_reader()->metadata()->RowGroup(group)->ColumnChunk(leaf)->num_values());
      }
    }
    std::shared_ptr<arrow::Table> table;
    PARQUET_THROW_NOT_OK(reader->ReadTable(wanted, &table));
  }

  std::uint64_t values() const { return values_; }

 private:
  std::uint64_t values_ = 0;
};

std::vector<HeadFileToRead> files_of(const std::string& dump) {
  const ap::DumpLayout layout = ap::find_heads(dump, "");
  std::vector<HeadFileToRead> files;
  for (const ap::HeadNumber& head : layout.keys) files.push_back({layout.file(ap::Side::key, head).string(), false});
  for (const ap::HeadNumber& head : layout.queries)
    files.push_back({layout.file(ap::Side::query, head).string(), true});
  return files;
}

template <class Decoder>
std::uint64_t decode(const std::vector<HeadFileToRead>& files, int threads) {
  std::atomic<std::size_t> next = 0;
  std::atomic<std::uint64_t> values = 0;
  std::atomic<bool> failed = false;
  const auto work = [&] {
    try {
      Decoder decoder;
      for (std::size_t file = next++; file < files.size(); file = next++) decoder.read(files[file]);
      values += decoder.values();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "decode_floor: %s\n", error.what());
      failed = true;
    }
  };
  {
    std::vector<std::jthread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back(work);
    work();
  }
  if (failed) std::exit(1);
  return values;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc == 4 ? std::atoi(argv[2]) : 0;
  const std::string_view how = argc == 4 ? argv[3] : "";
  if (threads < 1 || (how != "tables" && how != "columns")) {
    std::fprintf(stderr, "usage: decode_floor DUMP THREADS tables|columns\n");
    return 2;
  }
  try {
    const std::vector<HeadFileToRead> files = files_of(argv[1]);
    const std::uint64_t values =
        how == "tables" ? decode<TableDecoder>(files, threads) : decode<ColumnDecoder>(files, threads);
    std::printf("%zu files, %llu values\n", files.size(), static_cast<unsigned long long>(values));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "decode_floor: %s\n", error.what());
    return 1;
  }
}

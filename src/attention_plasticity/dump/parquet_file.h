#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "attention_plasticity/dump/column_rules.h"
#include "attention_plasticity/dump/vector_column.h"

namespace attention_plasticity {

/// The columns of a Parquet file as stored, a few thousand values at a time.
///
/// Read below Arrow's tables, where every spelling of a column is one: fixed-size, large and plain lists are entries
/// with levels, dictionaries and null-typed columns are plain numbers, and no size that a footer claims is allocated.
/// All failures are Error(ErrorKind::input, one line, file), whatever the file's bytes.
class ParquetFile {
 public:
  /// A column that has been found and has a type that is allowed.
  struct Column {
    std::string name;
    int leaf = 0;  ///< its index among the file's leaf columns
  };
  /// What a column may hold.
  enum class Kind { integer, number, vector };

  /// Opens the file and reads its footer.
  explicit ParquetFile(const std::filesystem::path& file);
  ~ParquetFile();
  ParquetFile(const ParquetFile&) = delete;
  ParquetFile& operator=(const ParquetFile&) = delete;

  std::uint64_t file_bytes() const;
  int row_groups() const;
  std::size_t rows() const;           ///< as the footer says: the sum over the row groups
  std::size_t rows(int group) const;  ///< likewise

  /// None: there is no such column. Throws when it is of another kind or there are two of that name.
  std::optional<Column> find(const std::string& name, Kind kind) const;
  /// Throws also when there is no such column, naming those there are.
  Column require(const std::string& name, Kind kind) const;

  /// As the footer says, over all row groups; 0 when there is no such column.
  std::uint64_t uncompressed_bytes(const std::string& name) const;
  std::uint64_t entries(const Column& column) const;

  /// Hands a column of a row group to `sink`, in order, until it ends or the sink returns false.
  void read_numbers(int group, const Column& column, const std::function<bool(const NumberBatch&)>& sink) const;
  /// Adds the vectors of a row group to `out`, until they end or one is at fault.
  void read_vectors(int group, const Column& column, VectorColumn& out) const;

  /// The footer and the pages contradict each other.
  [[noreturn]] void refuse_as_damaged(const std::string& how) const;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace attention_plasticity

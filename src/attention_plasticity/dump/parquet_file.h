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
/// They are read through Arrow's column readers instead of its tables. There fixed-size, large and plain lists are all
/// entries with levels, dictionaries and null-typed columns are plain numbers, and no size that a footer claims is
/// allocated. Whatever the file's bytes, all failures are Error(input) with one line and the file.
class ParquetFile {
 public:
  /// A column that exists and has an allowed type.
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
  std::size_t rows() const;           ///< of all row groups, as the footer says
  std::size_t rows(int group) const;  ///< of one row group, as the footer says

  /// The column of that name, or none. Throws when it is of another kind or the name is used twice.
  std::optional<Column> find(const std::string& name, Kind kind) const;
  /// The same, but throws when there is no such column; the message lists the columns.
  Column require(const std::string& name, Kind kind) const;

  /// Entries of a column over all row groups, as the footer says: for vectors, their components.
  std::uint64_t entries(const Column& column) const;

  /// Hands the numbers of a row group to `sink`, in order, until they end or the sink returns false.
  void read_numbers(int group, const Column& column, const std::function<bool(const NumberBatch&)>& sink) const;
  /// Adds the vectors of a row group to `out`, until they end or one breaks a rule.
  void read_vectors(int group, const Column& column, VectorColumn& out) const;

  /// Throws for a file whose footer and pages contradict each other; `how` says how.
  [[noreturn]] void refuse_as_damaged(const std::string& how) const;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace attention_plasticity

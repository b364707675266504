#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/dump/dump_files.h"
#include "attention_plasticity/dump/head_columns.h"

namespace attention_plasticity {

/// The columns of a Parquet file as stored, a few thousand values at a time.
///
/// They are read through Arrow's column readers instead of its tables. There fixed-size, large and plain lists are all
/// entries with levels, and dictionaries and null-typed columns are plain numbers. Arrow reads only a footer within
/// limits (footer_scan.h) whose numbers agree with each other and with the file's size, and gets no more memory for
/// pages than the footer claims. Whatever the file's bytes, all failures are Error(input) with one line and the file;
/// std::bad_alloc passes through, since a lack of memory says nothing about the file.
class ParquetFile {
 public:
  /// A column that exists and has an allowed type.
  struct Column {
    std::string name;
    int leaf = 0;  ///< its index among the file's leaf columns
  };
  using Kind = ColumnKind;

  /// Reads the footer of a file. `max_vector_width` is the most components of a vector.
  ParquetFile(std::shared_ptr<const InputFile> file, std::size_t max_vector_width);
  /// Opens a file on disk and reads its footer.
  ParquetFile(const std::filesystem::path& file, std::size_t max_vector_width);
  ~ParquetFile();
  ParquetFile(const ParquetFile&) = delete;
  ParquetFile& operator=(const ParquetFile&) = delete;

  std::uint64_t file_bytes() const;
  const FileIdentity& identity() const;
  /// Throws when this is another file than `expected`, or has changed since.
  void require_same(const FileIdentity& expected) const;
  int row_groups() const;
  std::size_t rows() const;           ///< of all row groups, as the footer says
  std::size_t rows(int group) const;  ///< of one row group, as the footer says

  /// The column of that name, or none. Throws when it is of another kind or the name is used twice.
  std::optional<Column> find(const std::string& name, Kind kind) const;
  /// The column of that name. Throws as find() does, and when there is no such column; the message lists the columns.
  Column require(const std::string& name, Kind kind) const;

  /// The names of the first columns, for a message.
  std::string column_names() const;

  /// Entries of a column over all row groups, as the footer says: for vectors, their components.
  std::uint64_t entries(const Column& column) const;

  /// Must be called before the first column is read, with all columns that will be. Throws where the footer contradicts
  /// itself or the file's size about them, and for vectors that are wider than allowed. With `digest`, row groups must
  /// then be read in order, and the bytes that are decoded are digested with the rest of the file. A remote file has no
  /// digest, since only a part of it is read.
  void prepare(const std::vector<Column>& columns, bool digest);
  /// The memory that decoding the prepared columns takes at most, without the values that are decoded.
  std::uint64_t decode_bytes() const;
  /// Fetches all prepared columns of a remote file at once. A file on disk is left as it is.
  void fetch() const;

  /// Hands the numbers of a row group to `sink`, in order, until they end or the sink returns false.
  void read_numbers(int group, const Column& column, const std::function<bool(const NumberBatch&)>& sink);
  /// Adds the vectors of a row group to `out`, until they end or one breaks a rule.
  void read_vectors(int group, const Column& column, VectorColumn& out);

  /// Hands the texts of a row group to `sink`, nothing for a null, until they end or the sink returns false.
  void read_texts(int group, const Column& column, const std::function<bool(std::optional<std::string_view>)>& sink);

  /// To be called after the last column: throws when the file has changed meanwhile, and returns the digest of the
  /// whole file, empty without one.
  std::string finish();
  /// The store's name for the content that was read; empty if it is not known.
  std::string etag() const;

  /// True if the first page of a column has a checksum. Writers give one to all pages of a file or to none.
  bool has_checksums(const Column& column) const;

  /// Throws for a file whose footer and pages contradict each other; `how` says how.
  [[noreturn]] void refuse_as_damaged(const std::string& how) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace attention_plasticity

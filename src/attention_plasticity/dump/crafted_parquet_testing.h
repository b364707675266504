#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// Parquet files written byte by byte, so that they can say what no writer says.

namespace attention_plasticity {

/// Writes structs in Thrift's compact protocol.
class ThriftText {
 public:
  ThriftText& i32(int field, std::int64_t value) { return number(field, 5, value); }
  ThriftText& i64(int field, std::int64_t value) { return number(field, 6, value); }
  ThriftText& boolean(int field, bool value);
  ThriftText& text(int field, const std::string& value);
  /// A struct, which must end with its stop.
  ThriftText& structure(int field, const std::string& content);
  /// Elements one after the other, all of one type: 5 for i32, 8 for text, 12 for structs.
  ThriftText& list(int field, int type, std::size_t size, const std::string& elements);
  ThriftText& raw(int field, int type, const std::string& bytes);

  /// The struct with its stop.
  std::string done() const { return bytes_ + '\0'; }

  static std::string varint(std::uint64_t value);
  static std::string zigzag(std::int64_t value);
  static std::string text_element(const std::string& value) { return varint(value.size()) + value; }

 private:
  ThriftText& number(int field, int type, std::int64_t value) { return raw(field, type, zigzag(value)); }

  std::string bytes_;
  int last_ = 0;
};

/// A page. Sizes that are not set are those of the body.
struct CraftedPage {
  bool is_dictionary = false;
  std::int64_t entries = 0;
  int encoding = 0;  ///< 0: plain, 8: indices into the dictionary
  std::string body;  ///< compressed, where the column is
  std::optional<std::int64_t> uncompressed;
  std::optional<std::int64_t> compressed;

  std::string bytes() const;
};

/// A column of a row group, of int32 or of lists of float without nulls.
struct CraftedColumn {
  std::string name;
  bool is_vector = false;
  std::vector<CraftedPage> pages;
  std::int64_t entries = 0;  ///< as the footer says
  int codec = 0;             ///< 0: uncompressed, 6: zstd
  std::optional<std::int64_t> total_compressed;
  std::int64_t moved = 0;   ///< how far the footer's offset is off
  std::optional<int> type;  ///< as the footer says of the row group: 1 for int32, 4 for float
};

/// A file of one row group or several equal ones.
struct CraftedFile {
  std::vector<CraftedColumn> columns;
  std::int64_t rows = 0;
  int groups = 1;
  std::optional<std::int64_t> rows_of_file;
  bool lists_groups_backwards = false;  ///< in the footer
  std::size_t nested_groups = 0;        ///< groups of columns, each inside the one before, at the end of the schema
  std::size_t flat_groups = 0;          ///< empty groups of columns side by side
  std::string further_fields;           ///< at the end of the footer, the first one step after field 4

  std::string footer(std::uint64_t begin = 4) const;
  std::string bytes() const;
};

/// A sound file of `rows` rows whose vectors are all zeros: buckets row / 4, example 0, positions 0 1 2 ...
CraftedFile zero_vectors(std::int64_t rows, std::int64_t width);

/// The same with vectors of which each page claims to hold as many entries as a page can: a few bytes stand for
/// `rows` x `width` components in runs of equal numbers.
CraftedFile runs_of_zeros(std::int64_t rows, std::int64_t width);

/// One row whose vector of `width` zeros is one page compressed by zstd. 4 * `width` must be a multiple of 16 MiB.
CraftedFile compressed_zeros(std::int64_t width);

}  // namespace attention_plasticity

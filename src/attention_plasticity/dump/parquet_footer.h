#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "attention_plasticity/base/byte_range.h"

namespace parquet {
class FileMetaData;
}  // namespace parquet

namespace attention_plasticity {

class InputFile;

/// The footer of a Parquet file: where its columns lie, how many rows and entries they have, and how much memory
/// decoding them takes. All numbers are claims of the file. Claims that contradict each other or the size of the file
/// throw std::runtime_error.
class ParquetFooter {
 public:
  /// Reads the footer. Throws BeyondLimit and BadThrift (footer_scan.h), and what Arrow throws.
  explicit ParquetFooter(const InputFile& file);

  const parquet::FileMetaData& metadata() const { return *metadata_; }
  std::uint64_t begin() const { return begin_; }  ///< offset in the file; all columns lie before it
  /// The bytes of the file from begin() on.
  std::span<const std::uint8_t> end_of_file() const { return end_of_file_; }
  /// The memory that the footer takes, at most.
  std::uint64_t memory() const { return memory_; }

  int groups() const { return static_cast<int>(group_rows_.size()); }
  std::size_t rows() const { return rows_; }
  std::size_t rows(int group) const { return group_rows_.at(static_cast<std::size_t>(group)); }

  /// Entries of a leaf column in a row group: one for each value and each null.
  std::uint64_t entries(int group, int leaf) const;
  /// Components of a vector in the row group: its entries over its rows; 0 if that is not whole.
  std::size_t width(int group, int leaf) const;
  /// The largest mean width of the vectors of a row group.
  std::uint64_t largest_width(int leaf) const;

  /// Throws unless the claims about a leaf column hold together in every row group.
  void check(int leaf) const;

  /// The bytes of the file that hold the pages of a column.
  ByteRange range(int group, int leaf) const;
  /// The bytes of several columns of a row group, in the order of the file.
  std::vector<ByteRange> ranges(int group, std::span<const int> leaves) const;
  /// True if the columns and row groups lie one after the other, as every writer puts them.
  bool is_in_order(std::span<const int> leaves) const;

  bool has_dictionary(int group, int leaf) const;
  /// The most memory that Arrow may take while it decodes a column of a row group: what the footer claims of its pages,
  /// but no more than its entries can take in any encoding. `dictionary_bytes`: the size that the dictionary claims.
  std::uint64_t decode_bytes(int group, int leaf, std::uint64_t dictionary_bytes) const;

 private:
  void count_rows();
  void check_names() const;
  void check_entries(int group, int leaf) const;
  void require_plausible(std::uint64_t number, std::uint64_t least, std::string_view of_what) const;

  std::uint64_t file_bytes_;
  std::uint64_t begin_ = 0;
  std::uint64_t memory_ = 0;
  std::vector<std::uint8_t> end_of_file_;
  std::shared_ptr<parquet::FileMetaData> metadata_;
  std::vector<std::size_t> group_rows_;
  std::size_t rows_ = 0;
};

}  // namespace attention_plasticity

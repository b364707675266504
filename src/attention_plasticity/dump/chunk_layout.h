#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/dump/file_bytes.h"

namespace parquet {
class FileMetaData;
}  // namespace parquet

namespace attention_plasticity {

/// Where the columns of a Parquet file lie and how many rows and entries they have, as its footer says. Everything that
/// contradicts the footer itself or the size of the file throws std::runtime_error.
class ChunkLayout {
 public:
  ChunkLayout() = default;
  /// `footer_begin`: the offset of the footer, before which all columns lie.
  ChunkLayout(std::shared_ptr<parquet::FileMetaData> footer, std::uint64_t file_bytes, std::uint64_t footer_begin);

  int groups() const { return static_cast<int>(group_rows_.size()); }
  std::size_t rows() const { return rows_; }
  std::size_t rows(int group) const { return group_rows_.at(static_cast<std::size_t>(group)); }

  /// Entries of a leaf column in a row group: one for each value and each null.
  std::uint64_t entries(int group, int leaf) const;
  /// Components of a vector in the row group: its entries over its rows; 0 if that is not whole.
  std::size_t width(int group, int leaf) const;
  /// The largest mean width of the vectors of a row group.
  std::uint64_t largest_width(int leaf) const;

  /// Throws unless what the footer says about a leaf column fits in every row group.
  void check(int leaf) const;

  /// Where the pages of a column lie.
  ByteRange range(int group, int leaf) const;
  /// Where several columns of a row group lie, in the order of the file.
  std::vector<ByteRange> ranges(int group, std::span<const int> leaves) const;
  /// True if the columns and row groups lie one after the other, as every writer puts them.
  bool is_in_order(std::span<const int> leaves) const;

 private:
  void check_names() const;
  void check_entries(int group, int leaf) const;
  void require_plausible(std::uint64_t number, std::uint64_t least, std::string_view of_what) const;

  std::shared_ptr<parquet::FileMetaData> footer_;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t footer_begin_ = 0;
  std::vector<std::size_t> group_rows_;
  std::size_t rows_ = 0;
};

}  // namespace attention_plasticity

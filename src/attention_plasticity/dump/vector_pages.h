#pragma once

#include <parquet/column_reader.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace parquet {
class DataPage;
}  // namespace parquet

namespace attention_plasticity {

// Parquet stores the levels of a page as runs: one level repeated, or several levels packed bit by bit (the format's
// "RLE / bit-packing hybrid"). Nearly every page of vectors holds whole rows without nulls. The runs show this at a
// fraction of the cost of decoding the levels.
//
// Both functions also return false for runs that are cut short or have an unknown form. The levels must then be
// decoded.

/// True if the first `count` levels, of 1 or 2 bits each, are all `level`.
bool runs_repeat(std::span<const std::uint8_t> runs, int bits, std::uint8_t level, std::size_t count);

/// True if the first `count` levels, of 1 bit each, belong to rows of `width` entries, whose levels are 0 1 1 ... 1.
/// The first row has `begun` < `width` entries before these levels, and the last row may continue after them.
bool runs_form_rows(std::span<const std::uint8_t> runs, std::size_t width, std::size_t begun, std::size_t count);

/// Passes the pages of a list column to a ColumnReader, and checks the levels of the current page on request.
///
/// Unlike other headers it includes Arrow's, so only `column_decoder.cc` includes it.
class VectorPages final : public parquet::PageReader {
 public:
  VectorPages(const parquet::ColumnDescriptor& leaf, std::unique_ptr<parquet::PageReader> pages)
      : leaf_(leaf), pages_(std::move(pages)) {}

  std::shared_ptr<parquet::Page> NextPage() override;
  void set_max_page_header_size(std::uint32_t size) override { pages_->set_max_page_header_size(size); }

  std::size_t count() const { return count_; }  ///< data pages passed so far
  std::size_t entries() const;                  ///< of the current page

  /// True if the current page holds only rows of `width` entries without nulls, given that `begun` entries of its first
  /// row are in earlier pages. False also when only decoding can tell, and for a width of 0.
  bool hold_only_rows(std::size_t width, std::size_t begun) const;

 private:
  const parquet::ColumnDescriptor& leaf_;
  std::unique_ptr<parquet::PageReader> pages_;
  std::shared_ptr<parquet::DataPage> page_;
  std::size_t count_ = 0;
};

}  // namespace attention_plasticity

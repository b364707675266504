#pragma once

#include <parquet/column_reader.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace parquet {
class DataPage;
}  // namespace parquet

namespace attention_plasticity {

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

#pragma once

#include <parquet/column_reader.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace parquet {
class DataPage;
}  // namespace parquet

namespace attention_plasticity {

/// Hands the pages of a list column on to a ColumnReader and looks at the levels of the one under way.
///
/// Shows Arrow, unlike other headers: `column_decoder.cc` alone includes it.
class VectorPages final : public parquet::PageReader {
 public:
  VectorPages(const parquet::ColumnDescriptor& leaf, std::unique_ptr<parquet::PageReader> pages)
      : leaf_(leaf), pages_(std::move(pages)) {}

  std::shared_ptr<parquet::Page> NextPage() override;
  void set_max_page_header_size(std::uint32_t size) override { pages_->set_max_page_header_size(size); }

  std::size_t count() const { return count_; }  ///< data pages handed on
  std::size_t entries() const;                  ///< of the page under way

  /// True when the page under way goes on with rows of `width` entries after a row of which it has `begun`, and none of
  /// them is null. False also when its levels must be decoded to tell, and of a width of 0.
  bool hold_only_rows(std::size_t width, std::size_t begun) const;

 private:
  const parquet::ColumnDescriptor& leaf_;
  std::unique_ptr<parquet::PageReader> pages_;
  std::shared_ptr<parquet::DataPage> page_;
  std::size_t count_ = 0;
};

}  // namespace attention_plasticity

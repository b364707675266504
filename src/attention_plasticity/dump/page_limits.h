#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace attention_plasticity {

/// What the footer says about a column of a row group.
struct ColumnChunk {
  std::uint64_t rows = 0;
  std::uint64_t entries = 0;    ///< values and nulls; for vectors, their components
  std::size_t value_bytes = 0;  ///< of one value; of a text, of its length
  bool is_text = false;         ///< values are as long as they like
  bool is_compressed = true;
};

/// Looks at the headers of the pages of a column chunk before one of them is decompressed. Throws std::runtime_error
/// when a page lies outside the chunk, when the pages hold more or fewer entries than the footer says, or when a page
/// would be larger than its entries can be in any encoding.
void check_pages(std::span<const std::uint8_t> bytes, const ColumnChunk& chunk);

/// The header of the page at the beginning of some bytes.
struct PageHeader {
  enum class Kind { data, data_v2, dictionary, other };
  Kind kind = Kind::other;
  std::int64_t uncompressed = -1;  ///< bytes
  std::int64_t compressed = -1;    ///< bytes that follow the header
  std::int64_t entries = 0;
  std::int64_t rows = -1;  ///< -1: not said
  std::int64_t repetition_bytes = 0;
  std::int64_t definition_bytes = 0;
  bool has_checksum = false;
  std::size_t size = 0;  ///< bytes of the header itself
};
/// Throws std::runtime_error for bytes that are no header.
PageHeader read_page_header(std::span<const std::uint8_t> bytes);

}  // namespace attention_plasticity

#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>

// Arrow turns a footer into a tree without limits: tests/program_bad_file_test.cc has a schema of 50,000 nested groups
// that overflows the stack (DeepSchema), and dump/bad_file_test.cc a footer whose lists take 500 bytes of memory for
// each of their own (ListsOfTheFooterAreCounted). So a footer is scanned before Arrow reads it. Parquet writes footers
// and the headers of pages in Thrift's compact protocol.

namespace attention_plasticity {

/// Thrown for a file that claims more than this program reads. The text names the number and the limit.
struct BeyondLimit : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Thrown for bytes that are no Thrift struct. The text continues "the footer ..." or a similar subject.
struct BadThrift : std::runtime_error {
  using std::runtime_error::runtime_error;
};

constexpr std::uint64_t max_footer_bytes = std::uint64_t{16} << 20;
constexpr std::uint64_t max_schema_elements = 1024;                   ///< columns and groups of columns
constexpr std::uint64_t max_footer_memory = std::uint64_t{64} << 20;  ///< bytes that Arrow takes for it

/// Returns an upper bound of the memory that Arrow takes for a footer. Throws BeyondLimit where it exceeds a limit
/// above, and BadThrift where the bytes are no footer.
std::uint64_t scan_footer(std::span<const std::uint8_t> footer);

/// The first fields of a page's header.
struct PageStart {
  std::int64_t uncompressed_bytes = 0;
  bool has_checksum = false;
};
/// Reads the beginning of the header of the page that begins with these bytes. Throws BadThrift.
PageStart read_page_start(std::span<const std::uint8_t> page);

}  // namespace attention_plasticity

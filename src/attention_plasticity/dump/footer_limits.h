#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>

namespace attention_plasticity {

/// Thrown for a file that says more than this program reads. The text names the number and the limit.
struct BeyondLimit : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The limits of a footer. A head file has six columns, at most three levels deep, and some row groups.
constexpr std::uint64_t max_footer_bytes = std::uint64_t{16} << 20;
constexpr std::uint64_t max_schema_elements = 1024;  ///< columns and groups of columns
constexpr std::uint64_t max_schema_depth = 16;       ///< Arrow descends by recursion and overflows its stack at 50,000
constexpr std::uint64_t max_row_groups = 16384;
constexpr std::uint64_t max_list_elements = 65536;                    ///< of any other list
constexpr std::uint64_t max_footer_memory = std::uint64_t{64} << 20;  ///< bytes that Arrow takes for it

/// Looks at a footer before Arrow does, and returns about how many bytes it takes in memory. Throws BeyondLimit, and
/// BadThrift where it is no footer.
std::uint64_t check_footer(std::span<const std::uint8_t> footer);

}  // namespace attention_plasticity

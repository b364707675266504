#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace attention_plasticity {

/// Writes the indices of the codes in first..last, ascending, and returns their number. `found` must have room for as
/// many indices as there are codes, which are fewer than 2^32. Compiled for several instruction sets and dispatched at
/// run time.
std::size_t find_codes(std::span<const std::uint16_t> codes, std::uint16_t first, std::uint16_t last,
                       std::uint32_t* found);

}  // namespace attention_plasticity

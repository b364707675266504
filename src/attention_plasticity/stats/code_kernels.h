#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

// Looking for codes and adding their counts up, compiled for several SIMD targets and dispatched at run time.

namespace attention_plasticity {

/// Writes the indices of the codes in first..last, ascending, and returns how many there are. `found` has room for all
/// of them; there are less than 2^32.
std::size_t find_codes(std::span<const std::uint16_t> codes, std::uint16_t first, std::uint16_t last,
                       std::uint32_t* found);

/// sums[i] = counts[8 i] + ... + counts[8 i + 7] for i < n.
void sum_eights(const std::uint8_t* counts, std::size_t n, std::uint64_t* sums);

}  // namespace attention_plasticity

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

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

}  // namespace attention_plasticity

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace attention_plasticity {

// Parquet stores the levels of a page as runs: one level repeated, or several packed bit by bit ("RLE / bit-packing
// hybrid" of the format). Nearly every page of vectors holds whole rows and no null, which a look at its runs tells at
// a fraction of what decoding its levels costs.
//
// Both functions are false also where the runs are cut short or of a form that they do not know: the levels must then
// be decoded to tell.

/// True when the first `count` levels, of 1 or 2 bits each, are all `level`.
bool runs_repeat(std::span<const std::uint8_t> runs, int bits, std::uint8_t level, std::size_t count);

/// True when the first `count` levels, of 1 bit each, are those of rows of `width` entries, 0 1 1 ... 1, of which the
/// first row has `begun` entries before them, below `width`. The last row may go on after them.
bool runs_form_rows(std::span<const std::uint8_t> runs, std::size_t width, std::size_t begun, std::size_t count);

}  // namespace attention_plasticity

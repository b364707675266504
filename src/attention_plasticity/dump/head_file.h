#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "attention_plasticity/base/head_rows.h"
#include "attention_plasticity/dump/layout.h"

namespace attention_plasticity {

struct ReadOptions {
  bool drop_non_finite = false;  ///< drop and count rows whose vector holds NaN or infinity; otherwise they are errors
  bool vectors = true;           ///< false: vectors are neither decoded nor checked
};

struct HeadFile {
  HeadRows rows;
  std::size_t dropped_rows = 0;  ///< by `ReadOptions::drop_non_finite`
};

/// Reads one `data.parquet`, in file order. Only the columns below are decoded, and `sliding_window` only of queries.
///
///     bucket          any integer type, >= 0
///     example_id      any integer type, >= 0 and below 2^63; missing: `HeadRows::example` is empty
///     position        any integer type, half, float or double, >= 0 and finite
///     vector          list of half, float or double, of one width; doubles are rounded to float
///     sliding_window  any integer type, half, float, double, or null-typed; missing, null, NaN, infinite or below 1:
///                     full attention; a fraction is floored; one value in all rows
///
/// With `vectors = false`, `HeadRows::vectors` is empty and `width` is what the footer implies: the file's components
/// over its rows, 0 where that is no whole number.
///
/// Throws Error(ErrorKind::input, one line, file) when the file cannot be read, a column is missing or of another type,
/// there are no rows (or none is left after dropping), a page's checksum is wrong, or a row breaks a rule above. Rows
/// count from 0 in file order; among the broken rows of a row group the first is named, and among the faults of that
/// row the first in the order of the columns above.
HeadFile read_head_file(const std::filesystem::path& file, Side side, const ReadOptions& options = {});

/// What a file's footer says, without decoding its columns.
struct HeadFileInfo {
  std::size_t rows = 0;
  std::size_t row_groups = 0;
  std::size_t width = 0;  ///< components of a vector: the file's components over its rows, 0 where that is not whole
  std::uint64_t file_bytes = 0;
  std::uint64_t uncompressed_bytes = 0;  ///< of the columns above, as encoded; those that are missing count nothing
};

/// Throws as `read_head_file` does when the file or its footer cannot be read, or there are no vectors in it.
HeadFileInfo head_file_info(const std::filesystem::path& file);

}  // namespace attention_plasticity

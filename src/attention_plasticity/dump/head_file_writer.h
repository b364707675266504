#pragma once

#include <cstddef>
#include <filesystem>

#include "attention_plasticity/base/head_rows.h"

namespace attention_plasticity {

struct WriteOptions {
  std::size_t rows_per_group = std::size_t{1} << 16;  ///< >= 1; 32 MiB of vectors at a width of 128
  bool checksums = true;                              ///< a CRC for every page
};

/// Writes one `data.parquet` as the public capture tool does: zstd, columns `bucket`, `example_id`, `position` (int32,
/// int64 where the numbers need it, double where a position is a fraction), `vector` (fixed-size list of float) and
/// `sliding_window` (int64, or null-typed for full attention). An empty `HeadRows::example` leaves `example_id` out;
/// `token_str`, which only people read, is never written.
///
/// Missing folders are created, and the file appears whole (AtomicFile). Throws Error(output) when it cannot be written
/// or the columns of `rows` differ in length.
void write_head_file(const std::filesystem::path& file, const HeadRows& rows, const WriteOptions& options = {});

}  // namespace attention_plasticity

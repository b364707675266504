#pragma once

#include <cstddef>
#include <filesystem>

#include "attention_plasticity/base/head_rows.h"

namespace attention_plasticity {

struct WriteOptions {
  std::size_t rows_per_group = std::size_t{1} << 16;  ///< >= 1; the default holds 32 MiB of vectors of width 128
  bool checksums = true;                              ///< a CRC for every page
};

/// Writes one `data.parquet` as the public capture tool does, compressed with zstd. The columns are `bucket`,
/// `example_id`, `position` (int32; int64 if a number needs it; double if a position is a fraction), `vector`
/// (fixed-size list of float) and `sliding_window` (int64, or null-typed for full attention). With an empty
/// `HeadRows::example` there is no column `example_id`. The tool's `token_str`, which only people read, is not written.
///
/// Missing folders are created, and the file appears whole (AtomicFile). Throws Error(output) when it cannot be written
/// or the columns of `rows` differ in length.
void write_head_file(const std::filesystem::path& file, const HeadRows& rows, const WriteOptions& options = {});

}  // namespace attention_plasticity

#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

#include "attention_plasticity/base/head_rows.h"

namespace attention_plasticity {

struct WriteOptions {
  std::size_t rows_per_group = std::size_t{1} << 16;  ///< >= 1; the default holds 32 MiB of vectors of width 128
  bool checksums = true;                              ///< a CRC for every page
  /// The vectors' first bytes together, then their second ones, and so on: zstd then halves bfloat16 values, and takes
  /// a tenth off others. Otherwise bfloat16 values are written with a dictionary, and others plainly.
  bool split_bytes = false;
};

/// Writes one `data.parquet` as the public capture tool does, compressed with zstd. The columns are `bucket`,
/// `example_id`, `position` (int32; int64 if a number needs it; double if a position is a fraction), `vector`
/// (fixed-size list of float) and `sliding_window` (int64, or null-typed for full attention). With an empty
/// `HeadRows::example` there is no column `example_id`. The tool's `token_str`, which only people read, is not written.
///
/// Missing folders are created, and the file appears whole (AtomicFile). Throws Error(output) when it cannot be written
/// or the columns of `rows` differ in length.
void write_head_file(const std::filesystem::path& file, const HeadRows& rows, const WriteOptions& options = {});

/// Writes a head file piece by piece, under a name that is its own. Members throw Error(output) as write_head_file
/// does. A file that is not closed is not whole, and stays where it is.
class HeadFileStream {
 public:
  /// Replaces or creates `file`, in a folder that exists.
  explicit HeadFileStream(std::filesystem::path file, const WriteOptions& options = {});
  HeadFileStream(const HeadFileStream&) = delete;
  HeadFileStream& operator=(const HeadFileStream&) = delete;
  ~HeadFileStream();

  /// Appends rows, in row groups of at most rows_per_group. All pieces must have the same width and window, need the
  /// same types for their numbers, and have examples or not.
  void write(const HeadRows& rows);
  void close();

 private:
  struct State;

  std::filesystem::path file_;
  WriteOptions options_;
  std::unique_ptr<State> state_;  // none before the first rows, and when closed
};

}  // namespace attention_plasticity

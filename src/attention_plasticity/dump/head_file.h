#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attention_plasticity/base/head_rows.h"
#include "attention_plasticity/dump/dump_files.h"
#include "attention_plasticity/dump/layout.h"

// Reads one `data.parquet` to the depth that is needed: its footer, its rows without their vectors, or its rows. Each
// function takes an open file (dump_files.h), or a path on disk, which it opens and closes.
//
// These columns are decoded, and no others; `sliding_window` only of queries:
//
//     bucket          any integer type, >= 0
//     example_id      any integer type, >= 0 and below 2^63; may be missing
//     position        any integer type, half, float or double, >= 0 and finite
//     vector          list of half, float or double, of one width; doubles are rounded to float
//     sliding_window  any integer type, half, float, double, or null-typed; one value in all rows. Missing, null, NaN,
//                     infinite or below 1: full attention. A fraction is rounded down.
//
// All functions throw Error(input) with one line and the file: when the file cannot be read, its footer or its pages
// contradict themselves or are beyond a limit, a column is missing or of another type, there are no rows, a page's
// checksum is wrong, a row breaks a rule above, or the file changes while it is read. std::bad_alloc passes through.
// Rows count from 0 in file order. Of the bad rows of a row group the message names the first, and of its faults the
// one whose column comes first in the list above.

namespace attention_plasticity {

/// The size of a head file, as its footer says.
struct HeadFooter {
  std::size_t rows = 0;
  std::size_t width = 0;  ///< components of a vector: the file's components over its rows; 0 if that is not whole
  FileIdentity identity;
};

/// The most components of a vector, unless an option says otherwise.
constexpr std::size_t default_max_vector_width = 65536;

/// Reads the footer alone. A file without rows is allowed.
HeadFooter read_head_footer(std::shared_ptr<const InputFile> file,
                            std::size_t max_vector_width = default_max_vector_width);
HeadFooter read_head_footer(const std::filesystem::path& file, std::size_t max_vector_width = default_max_vector_width);

/// True if the pages of a head file have checksums. Throws as `read_head_footer` does.
bool has_page_checksums(std::shared_ptr<const InputFile> file);
bool has_page_checksums(const std::filesystem::path& file);

/// The rows of a head file, in file order, without their vectors. The columns are those of HeadRows.
struct HeadTokens {
  std::size_t width = 0;  ///< as in HeadFooter
  std::vector<std::int64_t> bucket;
  std::vector<std::uint64_t> example;
  std::vector<double> position;
  std::optional<double> window;
};

/// Reads all columns but `vector`, which is not checked either.
HeadTokens read_head_tokens(std::shared_ptr<const InputFile> file, Side side);
HeadTokens read_head_tokens(const std::filesystem::path& file, Side side);

struct ReadOptions {
  /// True: rows whose vector holds NaN or infinity are dropped and counted. False: such a row is an error.
  bool drop_non_finite = false;
  /// The most components of a vector. Wider ones are an error before anything is decoded.
  std::size_t max_vector_width = default_max_vector_width;
  /// The file that was there when the run was prepared. Another one, or a changed one, is an error. Null: not compared.
  std::optional<FileIdentity> expected = {};
};

/// The file that was read, by its bytes.
struct InputDigest {
  std::uint64_t file_bytes = 0;  ///< the size of the file
  /// XXH3 of 128 bits of the whole file, in hexadecimal digits, from the bytes that were decoded; empty: not taken
  std::string digest;
  /// In place of the digest, of a file in a store that names its contents: its etag, the same before and after all
  /// reads
  std::string etag = {};

  friend bool operator==(const InputDigest&, const InputDigest&) = default;
};

struct HeadFile {
  HeadRows rows;                 ///< in file order
  std::size_t dropped_rows = 0;  ///< by `ReadOptions::drop_non_finite`
  InputDigest input;
};

/// How much memory reading a head file takes, by its footer and the headers of its dictionaries.
struct HeadFileSize {
  std::size_t rows = 0;
  std::size_t width = 0;         ///< as in HeadFooter
  std::uint64_t row_bytes = 0;   ///< of all rows in memory
  std::uint64_t read_bytes = 0;  ///< the most while the file is read, with its rows
};
/// Measures a file before it is read. All numbers are upper bounds: read_head_file() refuses a file that turns out to
/// be larger. Throws as it does, as far as the footer shows what is wrong.
HeadFileSize measure_head_file(std::shared_ptr<const InputFile> file, Side side, const ReadOptions& options = {});

/// Reads the rows. Throws also when all of them were dropped.
HeadFile read_head_file(std::shared_ptr<const InputFile> file, Side side, const ReadOptions& options = {});
HeadFile read_head_file(const std::filesystem::path& file, Side side, const ReadOptions& options = {});

/// How much of a head file is read.
enum class HeadPart { tokens, rows };
/// Fetches what read_head_tokens or read_head_file will read of a remote file, so that it need not wait. Throws as they
/// do, as far as the footer shows what is wrong. Nothing happens to a file on disk.
void fetch_head_file(std::shared_ptr<const InputFile> file, Side side, HeadPart part, const ReadOptions& options = {});

}  // namespace attention_plasticity

#pragma once

#include <cstdint>
#include <filesystem>

namespace attention_plasticity {

/// Looks at the first and last bytes of a file that should be Parquet and returns its size.
///
/// Throws Error(ErrorKind::input) with a message of its own for each thing found in its place: nothing, a folder, a
/// file that may not be read, an empty file, a Git LFS pointer, an HTML page, an encrypted or truncated Parquet file,
/// anything else.
std::uint64_t require_parquet(const std::filesystem::path& file);

}  // namespace attention_plasticity

#pragma once

#include <cstdint>
#include <filesystem>

namespace attention_plasticity {

/// Checks by its first and last bytes that a file is Parquet, and returns its size in bytes.
///
/// Throws Error(input) when it is not. There is a message for each of: a missing file, a folder, a file without
/// permission, an empty file, a Git LFS pointer, an HTML page, a file
/// compressed by gzip or a program like it, an encrypted Parquet file, a truncated one, other files.
std::uint64_t require_parquet(const std::filesystem::path& file);

}  // namespace attention_plasticity

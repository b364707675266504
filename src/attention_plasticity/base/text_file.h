#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace attention_plasticity {

// The most bytes of files that are read whole. What a stranger may have written beside a dump is small; what the
// program writes itself grows with the heads of a run.

/// config.json, _saver_state.json, labels, plans, a token: a hundred times the largest that models have.
inline constexpr std::uint64_t most_side_file_bytes = std::uint64_t{16} << 20U;
/// run.json, the manifest and the plan of a run, shard.json: some hundred bytes for each file of the dump.
inline constexpr std::uint64_t most_record_bytes = std::uint64_t{512} << 20U;
/// Tables and kept heads: some kilobytes for each head, more with many buckets.
inline constexpr std::uint64_t most_table_bytes = std::uint64_t{16} << 30U;

/// "is larger than 16.0 MiB, too large for a file of this kind".
std::string too_large_text(std::uint64_t most_bytes);

/// The bytes of a file. Throws Error(input) when it is missing, not a regular file (a folder, a pipe, a device), larger
/// than `most_bytes`, or unreadable. Never waits for another process.
std::string read_file_bytes(const std::filesystem::path& file, std::uint64_t most_bytes = most_side_file_bytes);

/// Gives the bytes of a file of any size to `sink`, piece by piece, until it returns false. Throws as read_file_bytes
/// does.
void read_file_pieces(const std::filesystem::path& file, const std::function<bool(std::string_view)>& sink);

/// The same as read_file_bytes without a byte order mark.
std::string read_text_file(const std::filesystem::path& file, std::uint64_t most_bytes = most_side_file_bytes);

}  // namespace attention_plasticity

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

namespace attention_plasticity {

/// Bytes that this process can get without others being swapped out, within the limits of its cgroups; none: not known.
/// Pages that cache files count as free.
std::optional<std::uint64_t> free_memory();

/// The same, from these files: /proc/meminfo, and memory.max, memory.current and memory.stat of each cgroup.
std::optional<std::uint64_t> free_memory(const std::filesystem::path& meminfo,
                                         std::span<const std::filesystem::path> cgroups);

}  // namespace attention_plasticity

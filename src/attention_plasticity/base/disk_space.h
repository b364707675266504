#pragma once

#include <cstdint>
#include <filesystem>

namespace attention_plasticity {

/// Free bytes on the disk of `folder`, or of its nearest parent that exists; the largest number when unknown.
std::uintmax_t free_disk_bytes(const std::filesystem::path& folder);

}  // namespace attention_plasticity

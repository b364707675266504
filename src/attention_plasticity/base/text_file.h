#pragma once

#include <filesystem>
#include <string>

namespace attention_plasticity {

/// The bytes of a file. Throws Error(input) when it is missing, a folder or unreadable.
std::string read_file_bytes(const std::filesystem::path& file);

/// The same without a byte order mark.
std::string read_text_file(const std::filesystem::path& file);

}  // namespace attention_plasticity

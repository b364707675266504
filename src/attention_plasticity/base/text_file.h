#pragma once

#include <filesystem>
#include <string>

namespace attention_plasticity {

/// The bytes of a file, without a byte order mark. Throws Error(input) when it is missing, a folder or unreadable.
std::string read_text_file(const std::filesystem::path& file);

}  // namespace attention_plasticity

#pragma once

#include <filesystem>

namespace attention_plasticity {

/// Throws Error(input), which says what is wrong, unless the file is a GGUF file that holds a model, or the first part
/// of one, and ends where its header says.
void check_gguf_file(const std::filesystem::path& file);

}  // namespace attention_plasticity

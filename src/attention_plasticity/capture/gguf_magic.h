#pragma once

#include <filesystem>
#include <string>

namespace attention_plasticity {

/// Whether a file begins as GGUF files do. False for what cannot be read.
bool has_gguf_magic(const std::filesystem::path& file);

/// Whether a model that a user names is a GGUF file: by its first bytes or, where there is none, by the end of its
/// name.
bool names_gguf_file(const std::string& model);

}  // namespace attention_plasticity

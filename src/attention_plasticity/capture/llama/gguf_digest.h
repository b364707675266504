#pragma once

#include <filesystem>
#include <string>

namespace attention_plasticity {

/// A SHA-256 that tells models apart, over all parts of the model whose first one is `file`: their headers, and of each
/// tensor some blocks, or all of it if it is small. Training changes whole tensors, so that some blocks tell; all bytes
/// of a large model would take minutes. Throws Error(input) when a part cannot be read.
std::string gguf_digest(const std::filesystem::path& file);

}  // namespace attention_plasticity

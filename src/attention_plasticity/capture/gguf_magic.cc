#include "attention_plasticity/capture/gguf_magic.h"

#include <array>
#include <fstream>
#include <string_view>

#include "attention_plasticity/base/text.h"

namespace attention_plasticity {

namespace fs = std::filesystem;

bool has_gguf_magic(const fs::path& file) {
  std::error_code unknown;
  if (!fs::is_regular_file(file, unknown)) return false;  // opening a pipe would wait
  std::ifstream stream(file, std::ios::binary);
  std::array<char, 4> begin{};
  stream.read(begin.data(), begin.size());
  return stream && std::string_view(begin.data(), begin.size()) == "GGUF";
}

bool names_gguf_file(const std::string& model) { return lower_case(model).ends_with(".gguf") || has_gguf_magic(model); }

}  // namespace attention_plasticity

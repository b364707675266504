#include "attention_plasticity/study/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <system_error>

#include "attention_plasticity/base/error.h"

namespace attention_plasticity {

namespace fs = std::filesystem;

std::string read_text_file(const fs::path& file) {
  std::error_code unknown;
  const fs::file_status status = fs::status(file, unknown);
  if (!fs::exists(status)) throw Error(ErrorKind::input, "there is no such file", file.string());
  if (fs::is_directory(status)) throw Error(ErrorKind::input, "is a folder and should be a file", file.string());
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream content;
  // An empty file leaves the stream that it is copied to in a failed state, which is no failure.
  if (stream && stream.peek() != std::ifstream::traits_type::eof()) content << stream.rdbuf();
  if (!stream.is_open() || stream.bad() || content.bad()) {
    throw Error(ErrorKind::input, "cannot be read; check its permissions", file.string());
  }
  std::string text = std::move(content).str();
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  return text;
}

std::string shown_text(std::string_view text) {
  constexpr std::size_t longest = 60;
  std::string shown = "'";
  for (const char c : text.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    shown += byte < 0x20 || byte >= 0x7f ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
  }
  return shown + (text.size() > longest ? "…'" : "'");
}

std::string_view trimmed_text(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::size_t line_number(std::string_view text, std::size_t offset) {
  return 1 + static_cast<std::size_t>(std::ranges::count(text.substr(0, offset), '\n'));
}

}  // namespace attention_plasticity

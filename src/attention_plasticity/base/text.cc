#include "attention_plasticity/base/text.h"

#include <fmt/format.h>

#include <algorithm>

#include "attention_plasticity/base/utf8.h"

namespace attention_plasticity {

std::string shown_text(std::string_view text) {
  constexpr std::size_t longest = 80;
  if (text.empty()) return "''";
  const bool escape_high = !is_utf8(text);
  std::string_view kept = text.substr(0, longest);
  if (!escape_high && kept.size() < text.size()) {
    while (!kept.empty() && continues_utf8(text[kept.size()])) kept.remove_suffix(1);
  }
  std::string shown;
  for (const char c : kept) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      shown += "\\n";
    } else if (byte < 0x20 || byte == 0x7f || (escape_high && byte >= 0x80)) {
      shown += fmt::format("\\x{:02x}", byte);
    } else {
      shown += c;
    }
  }
  return kept.size() < text.size() ? shown + "..." : shown;
}

std::string quoted_text(std::string_view text) { return text.empty() ? "''" : fmt::format("'{}'", shown_text(text)); }

std::string_view trimmed_text(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::size_t line_number(std::string_view text, std::size_t offset) {
  return 1 + static_cast<std::size_t>(std::ranges::count(text.substr(0, offset), '\n'));
}

}  // namespace attention_plasticity

#include "attention_plasticity/base/text.h"

#include <fmt/format.h>

#include <algorithm>

#include "attention_plasticity/base/utf8.h"

namespace attention_plasticity {
namespace {

// The control characters U+0080 to U+009F, which some terminals obey.
bool holds_late_control(std::string_view text) {
  return std::ranges::adjacent_find(text, [](char first, char second) {
           return static_cast<unsigned char>(first) == 0xc2 && static_cast<unsigned char>(second) < 0xa0;
         }) != text.end();
}

}  // namespace

std::string shown_text(std::string_view text) {
  constexpr std::size_t longest = 80;
  if (text.empty()) return "''";
  const bool escape_high = !is_utf8(text) || holds_late_control(text);
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

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::string size_text(std::uint64_t bytes) {
  double size = static_cast<double>(bytes) / 1024;
  const char* unit = "KiB";
  for (const char* larger : {"MiB", "GiB", "TiB"}) {
    if (size < 1024) break;
    size /= 1024;
    unit = larger;
  }
  return fmt::format("{:.1f} {}", size, unit);
}

std::string counted_text(std::size_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::size_t line_number(std::string_view text, std::size_t offset) {
  return 1 + static_cast<std::size_t>(std::ranges::count(text.substr(0, offset), '\n'));
}

}  // namespace attention_plasticity

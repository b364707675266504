#include "attention_plasticity/base/text.h"

#include <fmt/format.h>

#include <algorithm>

#include "attention_plasticity/base/address_secrets.h"
#include "attention_plasticity/base/printable.h"
#include "attention_plasticity/base/utf8.h"

namespace attention_plasticity {
std::string shown_text(std::string_view whole) {
  constexpr std::size_t longest = 80;
  if (whole.empty()) return "''";
  // Before it is cut, since a secret is known by what follows it.
  const std::string text = without_address_secrets(whole);
  std::string_view kept = std::string_view(text).substr(0, longest);
  if (kept.size() < text.size() && is_utf8(text)) {
    while (!kept.empty() && continues_utf8(text[kept.size()])) kept.remove_suffix(1);
  }
  return kept.size() < text.size() ? printable_text(kept) + "..." : printable_text(kept);
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

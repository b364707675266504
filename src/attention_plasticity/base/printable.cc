#include "attention_plasticity/base/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "attention_plasticity/base/utf8.h"

namespace attention_plasticity {
namespace {

bool is_plain(char c) { return c >= 0x20 && c < 0x7f; }

struct CodeRange {
  std::uint32_t first;
  std::uint32_t last;
};

// Beyond ASCII: controls, line separators, marks of direction, characters without a width, and codes that are none.
constexpr std::array<CodeRange, 13> hidden{{{0x80, 0x9f},
                                            {0xad, 0xad},
                                            {0x61c, 0x61c},
                                            {0x180e, 0x180e},
                                            {0x200b, 0x200f},
                                            {0x2028, 0x202e},
                                            {0x2060, 0x206f},
                                            {0xfdd0, 0xfdef},
                                            {0xfeff, 0xfeff},
                                            {0xfff0, 0xfffb},
                                            {0xfffe, 0xffff},
                                            {0x1d173, 0x1d17a},
                                            {0xe0000, 0xe0fff}}};

bool is_hidden(std::uint32_t code) {
  return std::ranges::any_of(hidden,
                             [code](const CodeRange& range) { return code >= range.first && code <= range.last; });
}

// The code of a well-formed character.
std::uint32_t code_of(std::string_view character) {
  const auto byte = [&](std::size_t i) { return std::uint32_t{static_cast<unsigned char>(character[i])}; };
  if (character.size() == 1) return byte(0);
  std::uint32_t code = byte(0) & (0x7fU >> character.size());
  for (std::size_t i = 1; i < character.size(); ++i) code = (code << 6U) | (byte(i) & 0x3fU);
  return code;
}

std::string spelled_code(std::uint32_t code) {
  return code < 0x10000 ? fmt::format("\\u{:04x}", code) : fmt::format("\\U{:08x}", code);
}

// As JSON spells it: codes above U+FFFF are two surrogates.
std::string json_escape(std::uint32_t code) {
  if (code < 0x10000) return fmt::format("\\u{:04x}", code);
  code -= 0x10000;
  return fmt::format("\\u{:04x}\\u{:04x}", 0xd800U + (code >> 10U), 0xdc00U + (code & 0x3ffU));
}

// Appends the first character of `rest` to `shown`, spelled out where it must be, and returns its bytes.
std::size_t append_character(std::string_view rest, std::string_view kept, std::string& shown) {
  const char c = rest.front();
  const std::size_t length = utf8_length(rest);
  if (length == 0) {
    shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    return 1;
  }
  if (length > 1) {
    const std::uint32_t code = code_of(rest.substr(0, length));
    if (is_hidden(code)) {
      shown += spelled_code(code);
    } else {
      shown += rest.substr(0, length);
    }
  } else if (is_plain(c) || kept.find(c) != std::string_view::npos) {
    shown += c;
  } else {
    shown += c == '\n' ? "\\n" : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return length;
}

std::string printable(std::string_view text, std::string_view kept) {
  const auto stays = [kept](char c) { return is_plain(c) || kept.find(c) != std::string_view::npos; };
  if (std::ranges::all_of(text, stays)) return std::string(text);
  std::string shown;
  shown.reserve(text.size() + 16);
  while (!text.empty()) text.remove_prefix(append_character(text, kept, shown));
  return shown;
}

}  // namespace

std::string printable_text(std::string_view text) { return printable(text, {}); }

std::string printable_lines(std::string_view text) { return printable(text, "\n\t"); }

std::string printable_json(std::string_view json) {
  if (std::ranges::all_of(json, [](char c) { return c >= 0 && c < 0x7f; })) return std::string(json);
  std::string shown;
  shown.reserve(json.size());
  while (!json.empty()) {
    const std::size_t length = std::max<std::size_t>(utf8_length(json), 1);
    const std::string_view character = json.substr(0, length);
    const std::uint32_t code = code_of(character);
    if (code == 0x7f || (length > 1 && is_hidden(code))) {
      shown += json_escape(code);
    } else {
      shown += character;
    }
    json.remove_prefix(length);
  }
  return shown;
}

std::size_t shown_width(std::string_view text) {
  return text.size() - static_cast<std::size_t>(std::ranges::count_if(text, continues_utf8));
}

}  // namespace attention_plasticity

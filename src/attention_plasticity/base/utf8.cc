#include "attention_plasticity/base/utf8.h"

#include <cstddef>

namespace attention_plasticity {
namespace {

// What the first byte of a character says: the number of its bytes and the range of the second byte.
struct Lead {
  std::size_t length = 0;  // 0: no character starts with this byte
  unsigned char second_low = 0x80;
  unsigned char second_high = 0xbf;
};

Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {.length = 1};
  if (byte < 0xc2) return {};
  if (byte < 0xe0) return {.length = 2};
  if (byte == 0xe0) return {.length = 3, .second_low = 0xa0};
  if (byte == 0xed) return {.length = 3, .second_high = 0x9f};
  if (byte < 0xf0) return {.length = 3};
  if (byte == 0xf0) return {.length = 4, .second_low = 0x90};
  if (byte < 0xf4) return {.length = 4};
  if (byte == 0xf4) return {.length = 4, .second_high = 0x8f};
  return {};
}

}  // namespace

bool continues_utf8(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U; }

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const Lead lead = lead_of(static_cast<unsigned char>(text[0]));
  if (lead.length == 0 || lead.length > text.size()) return 0;
  if (lead.length > 1) {
    const auto second = static_cast<unsigned char>(text[1]);
    if (second < lead.second_low || second > lead.second_high) return 0;
  }
  for (std::size_t k = 2; k < lead.length; ++k) {
    if (!continues_utf8(text[k])) return 0;
  }
  return lead.length;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace attention_plasticity

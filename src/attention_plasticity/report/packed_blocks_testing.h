#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

namespace attention_plasticity {

/// For tests: the bytes behind PackedBlocks::compressed_text(), unpacked as the page does.
inline std::string unpacked_bytes(std::string_view text) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string packed;
  unsigned group = 0;
  unsigned bits = 0;
  for (const char c : text.substr(0, text.find('='))) {
    group = (group << 6U) | static_cast<unsigned>(digits.find(c));
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    packed += static_cast<char>((group >> bits) & 255U);
  }
  for (uLongf size = 1 << 16;; size *= 2) {
    std::string bytes(size, '\0');
    uLongf used = size;
    const int result = uncompress(reinterpret_cast<Bytef*>(bytes.data()), &used,
                                  reinterpret_cast<const Bytef*>(packed.data()), static_cast<uLong>(packed.size()));
    if (result == Z_OK) return bytes.substr(0, used);
    if (result != Z_BUF_ERROR || size > (1U << 28U)) throw std::runtime_error("these are not packed blocks");
  }
}

template <typename Number>
Number number_at(const std::string& bytes, std::size_t offset) {
  Number number;
  std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

}  // namespace attention_plasticity

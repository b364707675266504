#pragma once

#include <openssl/evp.h>
#include <zlib.h>

#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

namespace attention_plasticity {

/// For tests: the bytes behind PackedBlocks::compressed_text(), unpacked as the page does.
inline std::string unpacked_bytes(std::string_view text) {
  std::string packed(text.size() / 4 * 3, '\0');
  const int size_with_padding =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(packed.data()),
                      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (size_with_padding < 0) throw std::runtime_error("this is not base64");
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

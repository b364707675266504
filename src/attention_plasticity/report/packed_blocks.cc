#include "attention_plasticity/report/packed_blocks.h"

#include <openssl/evp.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <new>
#include <vector>

namespace attention_plasticity {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they are in memory");

constexpr double largest_code = 65534;
constexpr std::uint16_t nan_code = 65535;
constexpr std::size_t alignment = 8;

}  // namespace

template <typename Number>
PackedBlock PackedBlocks::append(std::span<const Number> values, PackedBlock::Kind kind, double scale) {
  bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
  const PackedBlock block{kind, bytes_.size(), values.size(), scale};
  const auto raw = std::as_bytes(values);
  bytes_.append(reinterpret_cast<const char*>(raw.data()), raw.size());
  return block;
}

PackedBlock PackedBlocks::add_exact(std::span<const double> values) {
  return append(values, PackedBlock::Kind::f64, 1);
}

PackedBlock PackedBlocks::add_integers(std::span<const int> values) {
  static_assert(sizeof(int) == 4);
  return append(values, PackedBlock::Kind::i32, 1);
}

PackedBlock PackedBlocks::add_rounded(std::span<const double> values) {
  double largest = 0;
  for (const double value : values) {
    if (value > largest) largest = value;
  }
  const double scale = largest > 0 ? largest : 1;
  std::vector<std::uint16_t> codes(values.size());
  std::ranges::transform(values, codes.begin(), [scale](double value) {
    if (std::isnan(value)) return nan_code;
    return static_cast<std::uint16_t>(std::lround(std::max(value, 0.0) / scale * largest_code));
  });
  return append(std::span<const std::uint16_t>(codes), PackedBlock::Kind::u16, scale);
}

std::string PackedBlocks::compressed_text() const {
  uLongf size = compressBound(static_cast<uLong>(bytes_.size()));
  std::string packed(size, '\0');
  const int failed = compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                               reinterpret_cast<const Bytef*>(bytes_.data()), static_cast<uLong>(bytes_.size()), 9);
  // compressBound makes the buffer large enough, so only a lack of memory can fail.
  if (failed != Z_OK) throw std::bad_alloc();
  packed.resize(size);
  return base64(packed);
}

std::string base64(std::string_view bytes) {
  // OpenSSL counts bytes in an int. Pieces of a multiple of three bytes need no padding between them.
  constexpr std::size_t largest_piece = std::size_t{3} << 20U;
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // OpenSSL writes a zero byte after the text
  auto* end = reinterpret_cast<unsigned char*>(text.data());
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, largest_piece);
    end += EVP_EncodeBlock(end, reinterpret_cast<const unsigned char*>(piece.data()), static_cast<int>(piece.size()));
    bytes.remove_prefix(piece.size());
  }
  text.pop_back();
  return text;
}

}  // namespace attention_plasticity

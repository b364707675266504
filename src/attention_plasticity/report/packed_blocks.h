#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace attention_plasticity {

/// The place of an array of numbers in the packed bytes, and how to read it. Numbers are little-endian.
struct PackedBlock {
  enum class Kind {
    f64,  ///< doubles
    i32,  ///< whole numbers
    u16,  ///< a number is code / 65534 * scale; code 65535 is NaN
  };

  Kind kind = Kind::f64;
  std::size_t offset = 0;  ///< in bytes; a multiple of 8, as typed arrays of JavaScript require
  std::size_t count = 0;   ///< number of numbers
  double scale = 1;        ///< for u16; otherwise 1
};

/// Arrays of numbers, one after the other, which the page unpacks as typed arrays.
class PackedBlocks {
 public:
  PackedBlock add_exact(std::span<const double> values);
  PackedBlock add_integers(std::span<const int> values);
  /// Packs numbers >= 0 in 16 bits. The error is at most 1/131068 of the largest number. NaN stays NaN; negative
  /// numbers become 0.
  PackedBlock add_rounded(std::span<const double> values);

  const std::string& bytes() const { return bytes_; }
  /// The bytes, compressed in zlib's format (RFC 1950), as base64.
  std::string compressed_text() const;

 private:
  template <typename Number>
  PackedBlock append(std::span<const Number> values, PackedBlock::Kind kind, double scale);

  std::string bytes_;
};

/// The bytes as base64 (RFC 4648), padded, on one line.
std::string base64(std::string_view bytes);

}  // namespace attention_plasticity

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace attention_plasticity {

/// Where an array of numbers lies among the packed bytes, and how to read it back. All are little-endian.
struct PackedBlock {
  enum class Kind {
    f64,  ///< as they are
    i32,  ///< whole numbers
    u16,  ///< code / 65534 * scale; 65535 is NaN
  };

  Kind kind = Kind::f64;
  std::size_t offset = 0;  ///< in bytes, a multiple of 8: typed arrays want that
  std::size_t count = 0;   ///< of numbers
  double scale = 1;        ///< of u16
};

/// Arrays of numbers, one after the other, for a page that unpacks them as typed arrays.
class PackedBlocks {
 public:
  PackedBlock add_exact(std::span<const double> values);
  PackedBlock add_integers(std::span<const int> values);
  /// Numbers from 0 on, in 16 bits: off by at most 1/131068 of the largest. NaN stays NaN; what lies below 0 becomes 0.
  PackedBlock add_rounded(std::span<const double> values);

  const std::string& bytes() const { return bytes_; }
  /// zlib's format (RFC 1950) in base64 (RFC 4648).
  std::string compressed_text() const;

 private:
  template <typename Number>
  PackedBlock append(std::span<const Number> values, PackedBlock::Kind kind, double scale);

  std::string bytes_;
};

/// RFC 4648, padded, on one line.
std::string base64(std::string_view bytes);

}  // namespace attention_plasticity

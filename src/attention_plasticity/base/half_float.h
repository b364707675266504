#pragma once

#include <bit>
#include <cstdint>

namespace attention_plasticity {

/// The value of the bits of an IEEE binary16 number, exactly. Subnormal numbers are integers times 2^-24.
inline float float_of_half(std::uint16_t half) {
  const std::uint32_t bits = half;
  const std::uint32_t sign = (bits & 0x8000U) << 16U;
  const std::uint32_t exponent = (bits >> 10U) & 0x1FU;
  const std::uint32_t fraction = bits & 0x3FFU;
  if (exponent == 0) {
    const float value = static_cast<float>(fraction) * 0x1p-24F;
    return sign == 0 ? value : -value;
  }
  const std::uint32_t wide = exponent == 0x1F ? 0xFFU : exponent + 112;
  return std::bit_cast<float>(sign | (wide << 23U) | (fraction << 13U));
}

/// The value of the bits of a bfloat16 number: the upper half of a float.
inline float float_of_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

}  // namespace attention_plasticity

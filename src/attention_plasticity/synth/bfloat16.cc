#include "attention_plasticity/synth/bfloat16.h"

#include <bit>
#include <cstdint>

namespace attention_plasticity {

float round_to_bfloat16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  // Rounds half to even: adds just under half of the last kept bit, or exactly half if the last kept bit is 1.
  const std::uint32_t half = 0x7fffU + (bits >> 16 & 1U);
  return std::bit_cast<float>((bits + half) & 0xffff0000U);
}

}  // namespace attention_plasticity

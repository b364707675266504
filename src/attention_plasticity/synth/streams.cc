#include "attention_plasticity/synth/streams.h"

#include <ranges>

namespace attention_plasticity {

std::array<std::uint32_t, 4> stream_seed(std::uint64_t seed, Side side, HeadNumber head, Stream stream) {
  const std::uint32_t side_bit = side == Side::key ? 1 : 0;
  return {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
          static_cast<std::uint32_t>(head.layer) + (static_cast<std::uint32_t>(head.head) << 16),
          2 * static_cast<std::uint32_t>(stream) + side_bit};
}

NumpyGenerator stream_generator(std::uint64_t seed, Side side, HeadNumber head, Stream stream) {
  const auto words = stream_seed(seed, side, head, stream);
  GeneratorSeed whole = 0;
  for (const std::uint32_t word : std::views::reverse(words)) whole = whole << 32 | word;
  return NumpyGenerator(whole);
}

}  // namespace attention_plasticity

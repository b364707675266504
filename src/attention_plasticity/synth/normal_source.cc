#include "attention_plasticity/synth/normal_source.h"

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace attention_plasticity {
namespace {

// A number uniform on (-1, 1), symmetric about 0 and never 0.
double symmetric(std::uint32_t bits) { return (static_cast<double>(static_cast<std::int32_t>(bits)) + 0.5) * 0x1p-31; }

}  // namespace

NormalSource::Two NormalSource::draw() {
  for (;;) {
    const std::uint64_t word = generator_.raw();
    const double x = symmetric(static_cast<std::uint32_t>(word));
    const double y = symmetric(static_cast<std::uint32_t>(word >> 32));
    const double square = x * x + y * y;
    if (square >= 1) continue;
    const double stretch = std::sqrt(-2.0 * std::log(square) / square);
    return {x * stretch, y * stretch};
  }
}

void NormalSource::fill(std::span<float> out) {
  std::size_t i = 0;
  for (; i + 1 < out.size(); i += 2) {
    const Two two = draw();
    out[i] = static_cast<float>(two.first);
    out[i + 1] = static_cast<float>(two.second);
  }
  if (i < out.size()) out[i] = static_cast<float>(draw().first);
}

double NormalSource::next() { return draw().first; }

}  // namespace attention_plasticity

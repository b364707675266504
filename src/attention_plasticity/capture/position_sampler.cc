#include "attention_plasticity/capture/position_sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <random>

#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

/// The finalizer of SplitMix64 (Steele, Lea & Flood 2014, "Fast splittable pseudorandom number generators").
std::uint64_t mixed(std::uint64_t value) {
  value ^= value >> 30U;
  value *= 0xBF58476D1CE4E5B9U;
  value ^= value >> 27U;
  value *= 0x94D049BB133111EBU;
  return value ^ (value >> 31U);
}

std::uint64_t combined_seed(std::initializer_list<std::uint64_t> parts) {
  std::uint64_t seed = 0x243F6A8885A308D3U;  // the first digits of pi
  for (const std::uint64_t part : parts) {
    seed = (seed ^ mixed(part)) * 0x9E3779B97F4A7C15U;
    seed ^= seed >> 32U;
  }
  return seed;
}

std::uint64_t document_seed(const CaptureSettings& settings, std::uint64_t document, int layer, Side side) {
  const auto number = static_cast<std::uint64_t>(layer);
  const std::uint64_t letter = side == Side::query ? 0x71U : 0x6BU;  // q and k in ASCII
  if (settings.seed == 0) return combined_seed({document, number, letter});
  return combined_seed({document, number, letter, settings.seed});
}

/// torch.rand on the CPU, float32: MT19937 with the low half of the seed, of each word the low 24 bits.
class UniformFloats {
 public:
  explicit UniformFloats(std::uint64_t seed) : words_(static_cast<std::uint32_t>(seed)) {}
  float next() { return static_cast<float>(words_() & 0xFFFFFFU) * 0x1p-24F; }

 private:
  std::mt19937 words_;
};

std::size_t smallest_log_bucket(const CaptureSettings& settings) {
  return static_cast<std::size_t>(std::bit_width(settings.bucket_size - 1));
}

}  // namespace

std::size_t effective_bucket_size(const CaptureSettings& settings) {
  return settings.sampling == Sampling::log_uniform ? std::bit_ceil(settings.bucket_size) : settings.bucket_size;
}

std::int64_t bucket_of(const CaptureSettings& settings, std::int64_t position) {
  if (settings.sampling != Sampling::log_uniform) return position / static_cast<std::int64_t>(settings.bucket_size);
  const auto power = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(position) + 1) - 1);
  return static_cast<std::int64_t>(std::max(power, smallest_log_bucket(settings)));
}

SampledPositions sampled_positions(const CaptureSettings& settings, std::size_t length, std::uint64_t document,
                                   int layer, Side side) {
  SampledPositions sampled;
  UniformFloats draws(document_seed(settings, document, layer, side));
  const auto uniform_share =
      static_cast<float>(std::min(1.0, settings.rows_per_bucket / static_cast<double>(settings.bucket_size)));
  const auto rate = static_cast<float>(settings.rows_per_bucket);
  for (std::size_t i = 0; i < length; ++i) {
    const auto position = static_cast<std::int64_t>(i);
    const std::int64_t bucket = bucket_of(settings, position);
    if (settings.sampling != Sampling::all) {
      const float share = settings.sampling == Sampling::uniform
                              ? uniform_share
                              : std::min(1.0F, rate / std::ldexp(1.0F, static_cast<int>(bucket)));
      if (!(draws.next() < share)) continue;
    }
    sampled.positions.push_back(position);
    sampled.buckets.push_back(bucket);
  }
  return sampled;
}

void require_two_buckets(const CaptureSettings& settings, std::span<const std::size_t> lengths) {
  std::size_t longest = 0;
  for (const std::size_t length : lengths) longest = std::max(longest, length);
  if (longest > 0 && bucket_of(settings, static_cast<std::int64_t>(longest) - 1) > bucket_of(settings, 0)) return;
  throw Error(
      ErrorKind::input,
      fmt::format("no text reaches beyond the first bucket of {} tokens: the longest has {}; choose longer texts "
                  "or a smaller `bucket_size`",
                  effective_bucket_size(settings), longest));
}

void require_rows(std::size_t rows, int layer) {
  if (rows > 0) return;
  throw Error(ErrorKind::input,
              fmt::format("layer {}: no position was sampled of any document; choose more texts or a larger "
                          "`rows_per_bucket`",
                          layer));
}

}  // namespace attention_plasticity

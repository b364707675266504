#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace attention_plasticity {

/// Wide enough for `seed + 10007 * layer + 379 * q_head`, which may exceed 2^64.
__extension__ using GeneratorSeed = unsigned __int128;

/// The running sum of `weights` from the left, divided by its last value, as NumPy's `Generator.choice` computes it
/// from `p`. The last entry is exactly 1. Throws Error(usage) unless every weight is >= 0 and the sum is finite and
/// above 0; NumPy also requires the sum to be 1.
std::vector<double> cumulative_distribution(std::span<const double> weights);

/// `numpy.random.default_rng(seed)` to the bit: SeedSequence, PCG64 (XSL-RR 128/64) and the functions of `Generator`
/// that draw keys. Each draw uses exactly the words that NumPy uses, so both generators stay in the same state.
///
/// Integers below 2^32 use half a word. The other half is kept for the next such draw, by whatever function; `raw` and
/// `random` do not use it.
class NumpyGenerator {
 public:
  explicit NumpyGenerator(GeneratorSeed seed);

  /// The next 64 bits: `bit_generator.random_raw()`.
  std::uint64_t raw();

  /// Uniform on the multiples of 2^-53 in [0, 1): `random()`.
  double random();

  /// Uniform on 0..n-1: `integers(n)`. n = 1 draws nothing; n = 0 throws Error(usage).
  std::uint64_t integers(std::uint64_t n);

  /// k different numbers from 0..n-1 in random order: `choice(n, k, replace=False)`. k > n throws Error(usage).
  std::vector<std::size_t> choice_without_replacement(std::size_t n, std::size_t k);

  /// The same with k = out.size(). Allocates no memory for k <= 48.
  void choice_without_replacement(std::size_t n, std::span<std::size_t> out);

  /// The same with k = 2, faster. n must be at least 2.
  std::array<std::size_t, 2> choose_two(std::size_t n);

  /// An index drawn with probability p[i] / sum(p), for cumulative = cumulative_distribution(p): `choice(len(p), p=p)`.
  /// It is the first index whose entry exceeds random().
  std::size_t choice_cumulative(std::span<const double> cumulative);

 private:
  void step();
  std::uint32_t half_word();
  std::uint64_t up_to(std::uint64_t last);
  void shuffle_down_to(std::size_t first, std::span<std::size_t> values);
  void tail_shuffle(std::size_t n, std::span<std::size_t> out);
  void floyd(std::size_t n, std::span<std::size_t> out);

  std::uint64_t up_to_beyond_32_bits(std::uint64_t last);
  std::uint32_t draw_again(std::uint64_t product, std::uint32_t size);

  using Word128 = GeneratorSeed;
  Word128 state_ = 0;
  Word128 increment_ = 0;
  std::uint32_t spare_half_ = 0;
  bool has_spare_half_ = false;
};

// Inline, because a head draws tens of thousands of pairs.

inline void NumpyGenerator::step() {
  // The multiplier of O'Neill 2014, "PCG: a family of simple fast space-efficient statistically good algorithms for
  // random number generation", for 128 bits of state.
  constexpr Word128 multiplier = (Word128{0x2360ED051FC65DA4} << 64U) | 0x4385DF649FCCF645;
  state_ = state_ * multiplier + increment_;
}

inline std::uint64_t NumpyGenerator::raw() {
  step();
  const auto high = static_cast<std::uint64_t>(state_ >> 64U);
  return std::rotr(high ^ static_cast<std::uint64_t>(state_), static_cast<int>(high >> 58U));
}

inline std::uint32_t NumpyGenerator::half_word() {
  if (has_spare_half_) {
    has_spare_half_ = false;
    return spare_half_;
  }
  const std::uint64_t word = raw();
  has_spare_half_ = true;
  spare_half_ = static_cast<std::uint32_t>(word >> 32U);
  return static_cast<std::uint32_t>(word);
}

// Uniform on 0..last by Lemire 2019, "Fast random integer generation in an interval": the high half of word * size.
// Words whose low half would favour some results are rejected.
inline std::uint64_t NumpyGenerator::up_to(std::uint64_t last) {
  if (last == 0) return 0;
  if (last >= 0xFFFFFFFFU) return up_to_beyond_32_bits(last);
  const auto size = static_cast<std::uint32_t>(last + 1);
  const std::uint64_t product = std::uint64_t{half_word()} * size;
  if (static_cast<std::uint32_t>(product) < size) return draw_again(product, size);
  return product >> 32U;
}

// Floyd's sampling of two numbers and a shuffle, as in choice_without_replacement.
inline std::array<std::size_t, 2> NumpyGenerator::choose_two(std::size_t n) {
  const std::size_t first = up_to(n - 2);
  const std::size_t drawn = up_to(n - 1);
  const std::size_t second = drawn == first ? n - 1 : drawn;
  if (up_to(1) == 0) return {second, first};
  return {first, second};
}

}  // namespace attention_plasticity

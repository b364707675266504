#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace attention_plasticity {

/// An exact seed: `seed + 10007 * layer + 379 * q_head` may pass 2^64.
__extension__ using GeneratorSeed = unsigned __int128;

/// The running sum of `weights` divided by its last value, as `Generator.choice` of NumPy makes it of `p`: summed from
/// the left, so that the last entry is exactly 1. Throws Error(usage) unless every weight is >= 0 and their sum is
/// finite and above 0; NumPy also wants that sum to be 1.
std::vector<double> cumulative_distribution(std::span<const double> weights);

/// `numpy.random.default_rng(seed)` to the bit: SeedSequence, PCG64 (XSL-RR 128/64) and the parts of `Generator` that
/// draw keys. Each draw takes from the stream exactly what NumPy takes, so the two can be followed side by side.
///
/// Draws below 2^32 use half a word and keep the other half for the next such draw, whichever function makes it;
/// `raw` and `random` leave that half where it is.
class NumpyGenerator {
 public:
  explicit NumpyGenerator(GeneratorSeed seed);

  /// The next 64 bits: `bit_generator.random_raw()`.
  std::uint64_t raw();

  /// Uniform on the multiples of 2^-53 in [0, 1).
  double random();

  /// Uniform on 0..n-1: `integers(n)`. n = 1 draws nothing; n = 0 throws Error(usage).
  std::uint64_t integers(std::uint64_t n);

  /// k different numbers of 0..n-1 in random order: `choice(n, k, replace=False)`. k > n throws Error(usage).
  std::vector<std::size_t> choice_without_replacement(std::size_t n, std::size_t k);

  /// The same with k = out.size(); allocates nothing for k <= 48.
  void choice_without_replacement(std::size_t n, std::span<std::size_t> out);

  /// An index drawn with probability p[i] / sum(p): `choice(len(p), p=p)`, with the domain of cumulative_distribution.
  std::size_t choice_weighted(std::span<const double> p);

  /// choice_weighted(p) of cumulative = cumulative_distribution(p), for many draws by one p: the first index whose
  /// entry exceeds random().
  std::size_t choice_cumulative(std::span<const double> cumulative);

 private:
  void step();
  std::uint32_t half_word();
  std::uint64_t up_to(std::uint64_t last);
  void shuffle_down_to(std::size_t first, std::span<std::size_t> values);
  void tail_shuffle(std::size_t n, std::span<std::size_t> out);
  void floyd(std::size_t n, std::span<std::size_t> out);

  using Word128 = GeneratorSeed;
  Word128 state_ = 0;
  Word128 increment_ = 0;
  std::uint32_t spare_half_ = 0;
  bool has_spare_half_ = false;
};

}  // namespace attention_plasticity

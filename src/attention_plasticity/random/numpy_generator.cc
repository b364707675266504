#include "attention_plasticity/random/numpy_generator.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

constexpr std::uint64_t last_of_32_bits = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t last_of_64_bits = std::numeric_limits<std::uint64_t>::max();

using Word128 = GeneratorSeed;

constexpr Word128 joined(std::uint64_t high, std::uint64_t low) { return (Word128{high} << 64U) | low; }
constexpr std::uint64_t high_half(Word128 x) { return static_cast<std::uint64_t>(x >> 64U); }
constexpr std::uint64_t low_half(Word128 x) { return static_cast<std::uint64_t>(x); }

// The hash of SeedSequence, after O'Neill's seed_seq_fe128 (2015, "Developing a seed_seq alternative"). Each call
// multiplies by the next power of a constant, so that equal words at different places hash differently.
class RunningHash {
 public:
  constexpr RunningHash(std::uint32_t initial, std::uint32_t multiplier)
      : constant_(initial), multiplier_(multiplier) {}

  std::uint32_t operator()(std::uint32_t word) {
    word ^= constant_;
    constant_ *= multiplier_;
    word *= constant_;
    return word ^ (word >> 16U);
  }

 private:
  std::uint32_t constant_;
  std::uint32_t multiplier_;
};

std::uint32_t mix(std::uint32_t x, std::uint32_t y) {
  const std::uint32_t mixed = 0xCA01F9DDU * x - 0x4973F715U * y;
  return mixed ^ (mixed >> 16U);
}

// SeedSequence(seed).generate_state(4, uint64). The pool has 128 bits, so every seed fits in one round. For a short
// seed NumPy hashes zeros in place of the missing words, as this does.
std::array<std::uint64_t, 4> seed_sequence(GeneratorSeed seed) {
  std::array<std::uint32_t, 4> pool{};
  RunningHash absorb(0x43B0D7E5U, 0x931E8875U);
  for (std::uint32_t& word : pool) {
    word = absorb(static_cast<std::uint32_t>(seed));
    seed >>= 32U;
  }
  for (std::size_t from = 0; from < pool.size(); ++from) {
    for (std::size_t to = 0; to < pool.size(); ++to) {
      if (from != to) pool[to] = mix(pool[to], absorb(pool[from]));
    }
  }

  std::array<std::uint64_t, 4> words{};
  RunningHash emit(0x8B51F9DDU, 0x58F38DEDU);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::uint64_t low = emit(pool[2 * i % pool.size()]);
    const std::uint64_t high = emit(pool[(2 * i + 1) % pool.size()]);
    words[i] = (high << 32U) | low;
  }
  return words;
}

void require_enough(std::size_t n, std::size_t k) {
  if (k <= n) return;
  throw Error(ErrorKind::usage, "cannot draw " + std::to_string(k) + " different numbers from " + std::to_string(n));
}

}  // namespace

std::vector<double> cumulative_distribution(std::span<const double> weights) {
  if (std::ranges::any_of(weights, [](double weight) { return weight < 0; })) {
    throw Error(ErrorKind::usage, "weights of a draw must not be negative");
  }
  std::vector<double> sums(weights.size());
  std::partial_sum(weights.begin(), weights.end(), sums.begin());
  const double total = sums.empty() ? 0.0 : sums.back();
  if (!std::isfinite(total) || total == 0) {
    throw Error(ErrorKind::usage, "weights of a draw must have a finite sum above 0");
  }
  for (double& sum : sums) sum /= total;
  return sums;
}

NumpyGenerator::NumpyGenerator(GeneratorSeed seed) {
  const auto words = seed_sequence(seed);
  // An odd increment gives the full period.
  increment_ = (joined(words[2], words[3]) << 1U) | 1U;
  step();
  state_ += joined(words[0], words[1]);
  step();
}

double NumpyGenerator::random() { return static_cast<double>(raw() >> 11U) * 0x1p-53; }

// Called when the low half of the product may have to be rejected. Only then is the modulo needed.
std::uint32_t NumpyGenerator::draw_again(std::uint64_t product, std::uint32_t size) {
  const std::uint64_t rejected = (last_of_32_bits - (size - 1)) % size;
  while ((product & last_of_32_bits) < rejected) product = std::uint64_t{half_word()} * size;
  return static_cast<std::uint32_t>(product >> 32U);
}

std::uint64_t NumpyGenerator::up_to_beyond_32_bits(std::uint64_t last) {
  if (last == last_of_32_bits) return half_word();
  if (last == last_of_64_bits) return raw();
  const std::uint64_t size = last + 1;
  Word128 product = Word128{raw()} * size;
  if (low_half(product) < size) {
    const std::uint64_t rejected = (last_of_64_bits - last) % size;
    while (low_half(product) < rejected) product = Word128{raw()} * size;
  }
  return high_half(product);
}

std::uint64_t NumpyGenerator::integers(std::uint64_t n) {
  if (n == 0) throw Error(ErrorKind::usage, "cannot draw from 0 integers");
  return up_to(n - 1);
}

std::vector<std::size_t> NumpyGenerator::choice_without_replacement(std::size_t n, std::size_t k) {
  require_enough(n, k);
  std::vector<std::size_t> chosen(k);
  choice_without_replacement(n, chosen);
  return chosen;
}

void NumpyGenerator::choice_without_replacement(std::size_t n, std::span<std::size_t> out) {
  require_enough(n, out.size());
  // NumPy's threshold: it decides which numbers are drawn.
  if (n > 10000 && out.size() > n / 50) {
    tail_shuffle(n, out);
  } else {
    floyd(n, out);
  }
}

// Fisher-Yates shuffle from the end down to values[first].
void NumpyGenerator::shuffle_down_to(std::size_t first, std::span<std::size_t> values) {
  for (std::size_t i = values.size(); i-- > first;) std::swap(values[i], values[up_to(i)]);
}

void NumpyGenerator::tail_shuffle(std::size_t n, std::span<std::size_t> out) {
  std::vector<std::size_t> all(n);
  std::iota(all.begin(), all.end(), std::size_t{0});
  const std::size_t first = n - out.size();
  shuffle_down_to(first, all);
  std::copy(all.begin() + static_cast<std::ptrdiff_t>(first), all.end(), out.begin());
}

// Floyd's sampling (Bentley & Floyd 1987, "A sample of brilliance") and a shuffle, because its order is not random.
void NumpyGenerator::floyd(std::size_t n, std::span<std::size_t> out) {
  // For a few numbers a search is faster than a hash set, and allocates nothing.
  constexpr std::size_t few = 48;
  const std::size_t k = out.size();
  std::optional<std::unordered_set<std::size_t>> seen;
  if (k > few) seen.emplace(k);
  for (std::size_t i = 0; i < k; ++i) {
    const std::size_t last = n - k + i;
    const std::size_t drawn = up_to(last);
    const auto so_far = out.first(i);
    const bool taken = seen ? seen->contains(drawn) : std::ranges::find(so_far, drawn) != so_far.end();
    out[i] = taken ? last : drawn;
    if (seen) seen->insert(out[i]);
  }
  shuffle_down_to(1, out);
}

std::size_t NumpyGenerator::choice_cumulative(std::span<const double> cumulative) {
  return static_cast<std::size_t>(std::ranges::upper_bound(cumulative, random()) - cumulative.begin());
}

}  // namespace attention_plasticity

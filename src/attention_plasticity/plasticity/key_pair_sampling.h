#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attention_plasticity/random/numpy_generator.h"

namespace attention_plasticity {

/// Two different positions of one example.
struct SampledKeyPair {
  std::size_t example;
  std::int64_t k1;
  std::int64_t k2;

  bool operator==(const SampledKeyPair&) const = default;
};

/// Pairs of nearby positions in examples of `lengths` tokens; every position is equally likely as anchor. The same
/// draws as the reference `sample_key_pairs(lengths, num_pairs, max_rel_dist, rng)` in Python.
///
/// For each pair: example b with probability L_b / sum(L), redrawn while L_b < 2; anchor i uniform on 0..L_b-1;
/// neighbour j != i uniform on |i - j| <= max(1, floor(max_relative_distance * L_b)); (i, j) or (j, i) with equal odds.
///
/// Throws Error(usage), also for 0 pairs, when no length is 2 or more, a length is negative, the sum of lengths exceeds
/// 2^63 - 1, or `max_relative_distance` is not finite.
std::vector<SampledKeyPair> sample_key_pairs(std::span<const std::int64_t> lengths, std::size_t num_pairs,
                                             double max_relative_distance, NumpyGenerator& generator);

}  // namespace attention_plasticity

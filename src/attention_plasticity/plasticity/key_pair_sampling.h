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

/// Pairs of nearby positions, spread evenly over all positions of examples of `lengths` tokens: the reference
/// `sample_key_pairs(lengths, num_pairs, max_rel_dist, rng)`, draw for draw.
///
/// For each pair: example b with probability L_b / sum(L), drawn again while L_b < 2; anchor i uniform on 0..L_b-1;
/// neighbour j != i uniform on |i - j| <= max(1, floor(max_relative_distance * L_b)); (i, j) or (j, i) with equal odds.
///
/// Throws Error(usage), whatever `num_pairs`, when no length reaches 2 (no lengths at all included), a length is
/// negative, their sum passes 2^63 - 1, or `max_relative_distance` is not finite.
std::vector<SampledKeyPair> sample_key_pairs(std::span<const std::int64_t> lengths, std::size_t num_pairs,
                                             double max_relative_distance, NumpyGenerator& generator);

}  // namespace attention_plasticity

#pragma once

#include <cstddef>
#include <span>

namespace attention_plasticity {

/// Queries whose logits are computed at once.
inline constexpr std::size_t queries_at_once = 4;

/// logits[r * stride + j - first] = sum over c of queries[r * width + c] * keys[c * key_stride + j], for each of the
/// queries_at_once queries r and for j from `first` to `last`, both multiples of keys_at_once; keys are transposed.
/// Rounding differs between instruction sets: each product is added in one rounding or in two.
struct LogitBlock {
  const double* queries;
  const double* keys;
  std::size_t width;
  std::size_t key_stride;
  std::size_t first;
  std::size_t last;
};
void logits_of_block(const LogitBlock& block, double* logits, std::size_t stride);

/// `first` and `last` of a LogitBlock are multiples of this.
inline constexpr std::size_t keys_at_once = 16;

/// Sums over the visible keys of one query: w = exp(x - top) for the logit x of each key.
struct WeightSums {
  double weight = 0;        ///< sum of w
  double weighted_log = 0;  ///< sum of w (x - top)
  double weighted_key = 0;  ///< sum of w j, where j counts from 0
};

/// Replaces each logit x of a query by w = exp(x - top), where x is first capped to softcap * tanh(x / softcap) unless
/// softcap is 0, and `top` is the largest x, or `floor` if that is larger. Each w has a relative error below 1e-14.
struct WeightedRow {
  double top = 0;
  WeightSums sums;
};
WeightedRow weigh_logits(std::span<double> logits, double softcap, double floor);

}  // namespace attention_plasticity

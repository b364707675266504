#pragma once

#include <cstddef>
#include <span>

namespace attention_plasticity {

/// Queries and keys whose logits are computed at once.
inline constexpr std::size_t queries_at_once = 4;
inline constexpr std::size_t keys_at_once = 16;

/// Four queries and a range of keys. Keys lie in panels, so that they are read in order: entry [(p * width + c) *
/// keys_at_once + l] is component c of key p * keys_at_once + l.
struct LogitBlock {
  const double* queries;  ///< row after row
  const double* panels;
  std::size_t width;
  std::size_t first_panel;
  std::size_t last_panel;  ///< behind the last one
};

/// logits[r * stride + j] = the sum over c of the products of query r and of key j, counted from the first panel on.
/// Rounding differs between instruction sets: a product is added with one rounding or with two.
void logits_of_block(const LogitBlock& block, double* logits, std::size_t stride);

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

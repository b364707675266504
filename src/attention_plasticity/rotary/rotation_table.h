#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "attention_plasticity/rotation.h"

namespace attention_plasticity {

/// Rotates many vectors without computing a sine for each. R(n) = R(upper) R(lower), where `lower` holds the lower half
/// of n's bits and `upper` the rest, so two short tables cover every n. Within 1e-15 of Rotation::rotate relative to
/// the vector, plus the rounding of large angles there.
class RotationTable {
 public:
  /// The tables serve whole numbers of tokens from -most to most; for others, Rotation::rotate is called.
  RotationTable(const Rotation& rotation, double most);

  /// R(tokens) v in place.
  void rotate(std::span<double> vector, double tokens) const;
  /// out = R(tokens) v.
  void rotate(std::span<const float> vector, double tokens, std::span<double> out) const;

 private:
  const double* row(std::size_t index) const { return table_.data() + index * rotation_.dim(); }

  Rotation rotation_;
  std::size_t lower_bits_ = 0;
  std::size_t count_ = 0;  // the tables serve 0 .. count_ - 1 tokens
  // For 0 .. 2^lower_bits - 1 tokens, then for the multiples of 2^lower_bits: the cosines of all pairs, then the sines.
  std::vector<double> table_;
};

}  // namespace attention_plasticity

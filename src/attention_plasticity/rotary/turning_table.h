#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "attention_plasticity/rotary/rotation.h"

namespace attention_plasticity {

/// Turns many vectors as a rotation does, without a sine for each: the turn by n tokens is the one by the upper half of
/// n's bits after the one by the lower half, so that two short tables hold every turn. Within 1e-15 of
/// Rotation::turn relative to the vector, beside that one's own rounding of large angles.
class TurningTable {
 public:
  /// For whole numbers of tokens up to `most`, either way; others are turned by the rotation itself.
  TurningTable(const Rotation& rotation, double most);

  /// R(tokens) v in place.
  void turn(std::span<double> vector, double tokens) const;
  /// out = R(tokens) v.
  void turn(std::span<const float> vector, double tokens, std::span<double> out) const;

 private:
  const double* row(std::size_t index) const { return turns_.data() + index * rotation_.dim(); }

  Rotation rotation_;
  std::size_t lower_bits_ = 0;
  std::size_t count_ = 0;      // whole numbers of tokens that the tables reach, from 0
  std::vector<double> turns_;  // cosines, then sines, of 0 .. 2^lower_bits - 1 tokens, then of the multiples of that
};

}  // namespace attention_plasticity

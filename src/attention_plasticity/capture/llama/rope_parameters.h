#pragma once

#include <array>
#include <vector>

#include "attention_plasticity/rotation.h"

namespace attention_plasticity {

/// What a node of a graph that rotates vectors says about its rotation.
struct RopeParameters {
  int dims = 0;                  ///< rotated components
  int first = 0;                 ///< index of the first one in a query or key
  bool adjacent_pairs = false;   ///< pairs are components 2i and 2i + 1; otherwise i and i + dims / 2
  double base = 10000;           ///< theta
  double scale = 1;              ///< of all frequencies
  double extrapolation = 0;      ///< YaRN: how much of the ramp is applied; 0: none
  double magnitude = 1;          ///< of the rotated vector, before what YaRN adds
  double beta_fast = 32;         ///< YaRN
  double beta_slow = 1;          ///< YaRN
  int original_length = 0;       ///< YaRN: tokens that the model was first trained on
  std::vector<float> factors{};  ///< by which the frequency of each pair is divided; empty: 1
  /// Pairs that stand still in texts: where a model for images has several positions for a token, one of them is 0.
  std::vector<bool> still{};
};

/// The rotation of the vectors once their pairs are halves (halve_pairs): of kind standard where it is that, otherwise
/// listed.
LayerRotation rotation_of(const RopeParameters& parameters);

/// Which pairs stand still in texts, of a rotation whose pairs are shared out among four positions of a token: time,
/// height, width, which are equal in texts, and a fourth one, which is 0. `sections` are the pairs of each;
/// `interleaved`: those of the first three alternate.
std::vector<bool> still_pairs(int dims, const std::array<int, 4>& sections, bool interleaved);

/// Moves the rotated components of a vector so that pairs (2i, 2i + 1) become pairs (i, i + dims / 2). `scratch` is
/// used meanwhile.
void halve_pairs(float* vector, int first, int dims, std::vector<float>& scratch);

}  // namespace attention_plasticity

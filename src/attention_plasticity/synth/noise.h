#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "attention_plasticity/synth/head_model.h"
#include "attention_plasticity/synth/normal_source.h"

namespace attention_plasticity {

/// Degrees of freedom of heavy tails. The excess kurtosis is 6.
inline constexpr int heavy_degrees_of_freedom = 5;

/// Draws rows of noise with mean 0 and the covariance of a model.
class Noise {
 public:
  Noise(const HeadModel& model, Tails tails);

  /// Fills consecutive `rows`. Their size must be a multiple of the model's dimension.
  void draw(NormalSource& normals, std::span<float> rows) const;

 private:
  void stretch(NormalSource& normals, std::span<float> rows) const;

  std::size_t dim_;
  Tails tails_;
  std::size_t stride_ = 0;   // length of a row of root_: dim_ rounded up to whole tiles
  std::vector<float> root_;  // row i is sqrt(eigenvalue_i) axis_i, padded with zeros; empty when isotropic
};

}  // namespace attention_plasticity

#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "attention_plasticity/base/matrix.h"
#include "attention_plasticity/dump/layout.h"
#include "attention_plasticity/synth/options.h"

namespace attention_plasticity {

/// The parameters of one head's queries or keys, before rotation: a row at position t of document e is
/// mean + slope t + effect_e + noise, noise of covariance sum_i eigenvalue_i axis_i axis_i'.
struct HeadModel {
  std::vector<double> mean;                  ///< zero for keys
  std::vector<double> slope;                 ///< for each token; zero for keys
  double effect = 0;                         ///< effect_e is normal, of effect² times that covariance; 0 for keys
  std::vector<double> eigenvalues;           ///< descending, of mean 1
  Matrix axes;                               ///< row i is axis i; empty when isotropic, where any axes do
  std::array<std::uint32_t, 4> axes_seed{};  ///< of `random_axes`

  std::size_t dim() const { return eigenvalues.size(); }
};

/// The options must have passed `check`.
HeadModel make_head_model(const SynthOptions& options, Side side, HeadKey head);

/// sum_i eigenvalue_i axis_i axis_i'.
Matrix noise_covariance(const HeadModel& model);

}  // namespace attention_plasticity

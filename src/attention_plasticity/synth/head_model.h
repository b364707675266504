#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "attention_plasticity/base/matrix.h"
#include "attention_plasticity/dump/layout.h"
#include "attention_plasticity/synth/options.h"

namespace attention_plasticity {

/// The parameters of one head's queries or keys before rotation. A row at position t of document e is
/// mean + slope t + effect_e + noise, where the noise has the covariance sum_i eigenvalue_i axis_i axis_i'.
struct HeadModel {
  std::vector<double> mean;         ///< zero for keys
  std::vector<double> slope;        ///< per token; zero for keys
  double effect = 0;                ///< effect_e is normal with effect² times that covariance; 0 for keys
  std::vector<double> eigenvalues;  ///< descending, with mean 1
  Matrix axes;                      ///< row i is axis i; empty if all eigenvalues are 1, when axes do not matter
  std::array<std::uint32_t, 4> axes_seed{};  ///< seed of the generator for `random_axes`

  std::size_t dim() const { return eigenvalues.size(); }
};

/// The options must have passed `check`.
HeadModel make_head_model(const SynthOptions& options, Side side, HeadNumber head);

/// The covariance of the noise, sum_i eigenvalue_i axis_i axis_i'.
Matrix noise_covariance(const HeadModel& model);

}  // namespace attention_plasticity

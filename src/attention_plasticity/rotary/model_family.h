#pragma once

#include <cstddef>
#include <string_view>

#include "attention_plasticity/rotary/rotation.h"

namespace attention_plasticity {

/// Which layers of a model turn their vectors.
enum class TurningLayers {
  all,                    ///< but those that `no_rope_layers` leaves out
  sliding,                ///< those with sliding attention
  sliding_when_windowed,  ///< those with sliding attention; all when `sliding_window` is null
};

/// What models of one type have in common without their config.json having to say so.
struct ModelFamily {
  std::string_view model_type = {};
  double theta = 10000;  ///< when the config names none; 0: the config must name it
  RotaryLayout layout = RotaryLayout::half;
  double partial = 1;                ///< share of a vector that turns
  std::size_t rotary_dim = 0;        ///< components that turn, instead of a share; 0: the share
  std::size_t head_dim = 0;          ///< 0: hidden_size / num_attention_heads
  double sliding_theta = 0;          ///< of layers with sliding attention; 0: as all others
  std::size_t sliding_pattern = 0;   ///< each so many layers have full attention, those between a sliding window
  std::size_t no_rope_interval = 0;  ///< each so many layers do not turn; 0: all turn
  TurningLayers turning = TurningLayers::all;
  bool scales_full_layers_only = false;  ///< rope_scaling leaves layers with sliding attention alone
  std::string_view scaling = {};         ///< rope_scaling when the config names none, as JSON
};

/// The family of a `model_type`; null when it is not known.
const ModelFamily* model_family_of(std::string_view model_type);

}  // namespace attention_plasticity

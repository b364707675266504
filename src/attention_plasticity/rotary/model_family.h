#pragma once

#include <cstddef>
#include <string_view>

#include "attention_plasticity/rotation.h"

namespace attention_plasticity {

/// Which layers of a model rotate their queries and keys.
enum class RotatedLayers {
  all,                    ///< except those that `no_rope_layers` leaves out
  sliding,                ///< those with sliding attention
  sliding_when_windowed,  ///< those with sliding attention; all when `sliding_window` is null
  none,                   ///< positions are learned, and added to the embeddings
};

/// Defaults of one model type: what its config.json may leave out.
struct ModelFamily {
  std::string_view model_type = {};
  double theta = 10000;  ///< used when the config has none; 0: the config must have one
  RotaryLayout layout = RotaryLayout::half;
  double partial = 1;               ///< share of a vector's components that is rotated
  std::size_t rotary_dim = 0;       ///< number of rotated components; 0: `partial` says it
  std::size_t head_dim = 0;         ///< 0: hidden_size / num_attention_heads
  double sliding_theta = 0;         ///< theta of layers with sliding attention; 0: as in the others
  std::size_t sliding_pattern = 0;  ///< every n-th layer has full attention, the others a sliding window; 0: no pattern
  std::size_t no_rope_interval = 0;  ///< every n-th layer is not rotated; 0: all are
  RotatedLayers rotated = RotatedLayers::all;
  bool scales_full_layers_only = false;  ///< rope_scaling does not apply to layers with sliding attention
  std::string_view scaling = {};         ///< used when the config has no rope_scaling; JSON
};

/// The family of a `model_type`; null when the type is not known.
const ModelFamily* model_family_of(std::string_view model_type);

}  // namespace attention_plasticity

#pragma once

#include <optional>

#include "attention_plasticity/rotary/rotary_json.h"
#include "attention_plasticity/rotary/rotation_rules.h"

namespace attention_plasticity {

/// Reads a config that lists the rotation of each layer, as a capture of a GGUF file writes it: `rope_rotations`, the
/// different ones, and `rope_layers`, for each layer the number of its rotation, or null where vectors are not rotated.
/// A rotation has the keys of `rope_parameters`, and `rope_first` and `rope_dim`, the first and the number of rotated
/// components. Nothing else of the config is looked at but `head_dim`. None when there is no such list. Throws
/// Error(usage) for a list that cannot be used.
std::optional<RotationRules> rules_of_layer_list(const JsonFields& fields);

}  // namespace attention_plasticity

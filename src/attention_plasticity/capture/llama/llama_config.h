#pragma once

#include <string>
#include <vector>

#include "attention_plasticity/capture/llama/attention_layer.h"

namespace attention_plasticity {

/// What else a config.json says of a model.
struct ConfigFacts {
  std::string architecture;
  std::string program;  ///< version of libllama
  int trained_length = 0;
  bool exact = false;
};

/// The text of a dump's config.json, from what the graph says: shape, windows, scale, softcap and sinks of each layer,
/// and its rotation as ModelRotation::of_model_config reads it.
std::string config_text(const std::vector<AttentionLayer>& layers, const ConfigFacts& facts);

}  // namespace attention_plasticity

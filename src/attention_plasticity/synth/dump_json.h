#pragma once

#include <string>

#include "attention_plasticity/synth/options.h"

namespace attention_plasticity {

/// The text of `truth.json` (docs/synthetic.md), the plasticity of every head computed on the way.
std::string truth_json(const SynthOptions& options);

/// The text of `config.json`: the shape, rotation and windows as models on the Hub give them.
std::string model_config_json(const SynthOptions& options);

/// The text of `_saver_state.json`, as the capture tool writes it.
std::string saver_state_json(const SynthOptions& options);

}  // namespace attention_plasticity

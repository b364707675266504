#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "attention_plasticity/synth/options.h"

namespace attention_plasticity {

/// The text of `truth.json` (docs/synthetic.md). Computes the plasticity of every head; `progress`, if there is one, is
/// called after each.
std::string truth_json(const SynthOptions& options,
                       const std::function<void(std::size_t done, std::size_t total)>& progress);

/// The text of `config.json`: shape, rotation and windows, in the fields that models on the Hub use.
std::string model_config_json(const SynthOptions& options);

/// The text of `_saver_state.json`, in the form of the capture tool.
std::string saver_state_json(const SynthOptions& options);

}  // namespace attention_plasticity

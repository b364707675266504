#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/rotary/rotary_parameters.h"
#include "attention_plasticity/rotation.h"

namespace attention_plasticity {

/// One number per layer: a list with an entry for each layer, or a pattern that repeats.
struct LayerPattern {
  std::vector<std::size_t> values{0};
  bool repeats = true;

  /// None for a negative layer and for a layer beyond the end of a list.
  std::optional<std::size_t> at(int layer) const;
};

/// A rotation that layers share.
struct RotationRule {
  RotaryParameters parameters;
  std::optional<std::size_t> dim;  ///< components that are rotated; none: a share of them
  double partial = 1;              ///< the share, in (0, 1]
  std::size_t first = 0;           ///< index of the first rotated component
  std::string refusal;             ///< why layers with this rotation cannot be used; empty: they can
};

/// How each layer of a model rotates its vectors, before their width is known.
struct RotationRules {
  RotaryLayout layout = RotaryLayout::half;
  std::optional<std::size_t> head_dim;  ///< width of a vector according to the config
  /// Width of an absorbed vector of latent attention, whose rotated components come first; none: no such model.
  std::optional<std::size_t> absorbed_dim;
  std::vector<RotationRule> list;
  LayerPattern rule_of;             ///< index into `list`
  LayerPattern rotates{{1}, true};  ///< 1: as the rule says; 0: R = I
  std::set<int> layers_without;     ///< further layers with R = I
};

/// What a model's config.json says; see ModelRotation::of_model_config.
std::optional<RotationRules> rules_of_model_config(std::string_view json);

}  // namespace attention_plasticity

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/rotary/rotary_parameters.h"
#include "attention_plasticity/rotary/rotation.h"

namespace attention_plasticity {

/// One number for each layer: listed layer by layer, or a pattern that starts again after its last one.
struct LayerPattern {
  std::vector<std::size_t> values{0};
  bool repeats = true;

  /// Nothing for a negative layer and for one beyond a list.
  std::optional<std::size_t> at(int layer) const;
};

/// A way of turning that layers share.
struct Turning {
  RotaryParameters parameters;
  std::optional<std::size_t> dim;  ///< components that turn; none: a share of them
  double partial = 1;              ///< the share, in (0, 1]
  std::string refusal;             ///< why layers that turn this way cannot be used; empty: they can
};

/// How every layer of a model turns, before the width of its vectors is known.
struct RotationPlan {
  RotaryLayout layout = RotaryLayout::half;
  std::optional<std::size_t> head_dim;  ///< the width that the config speaks of
  std::vector<Turning> turnings;
  LayerPattern turning_of;        ///< index into turnings
  LayerPattern turns{{1}, true};  ///< 0: R = I
};

/// What a model's config.json says; see ModelRotation::of_model_config.
std::optional<RotationPlan> plan_of_model_config(std::string_view json);

}  // namespace attention_plasticity

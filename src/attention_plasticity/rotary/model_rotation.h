#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "attention_plasticity/rotary/rotary_parameters.h"
#include "attention_plasticity/rotary/rotation.h"
#include "attention_plasticity/rotary/rotation_rules.h"

namespace attention_plasticity {

/// A rotation described by a run's settings instead of a config.json.
struct RotarySettings {
  std::optional<double> theta;         ///< `rope_theta`, > 0; none: it must be in `scaling`
  std::optional<std::size_t> dim;      ///< `rope_dim`; none: the whole width
  std::optional<RotaryLayout> layout;  ///< `rope_layout`; none: half
  std::size_t first = 0;               ///< `rope_first`: index of the first rotated component
  /// `rope_scaling`, a JSON object with the keys of a config.json's `rope_parameters`, and `max_position_embeddings`
  /// for kinds that need the trained length; none: the default kind.
  std::optional<std::string> scaling;
};

/// How one layer rotates its queries and keys.
struct LayerRotation {
  RotaryKind kind = RotaryKind::none;
  double theta = 0;  ///< base of the frequencies; 0 for kind none
  Rotation rotation;
};

/// How each layer of a model rotates its queries and keys.
class ModelRotation {
 public:
  /// A model without rotation: R = I in every layer.
  static ModelRotation none();
  /// The same rotation in every layer but `layers_without`, where R = I. Throws Error(usage) for settings that cannot
  /// be used.
  static ModelRotation of_settings(const RotarySettings& settings, std::span<const int> layers_without = {});
  /// Reads a model's config.json, in current and older spellings; none when it does not mention a rotation. Throws
  /// Error(input) for text that is not a JSON object, Error(usage) for a rotation that is not known.
  static std::optional<ModelRotation> of_model_config(std::string_view json);

  /// True when the rotation depends on the largest position: longrope chooses its factors by it, and dynamic is refused
  /// beyond the trained length.
  bool depends_on_length() const;

  /// The rotation of a layer whose vectors have `width` components, in a dump whose largest position is
  /// `largest_position` (used only when depends_on_length()). Throws Error(usage) for a width that does not fit, a
  /// layer that the config does not list, and positions beyond the trained length of a `dynamic` model.
  LayerRotation layer(int layer, std::size_t width, double largest_position) const;

 private:
  explicit ModelRotation(RotationRules rules);

  RotationRules rules_;
};

}  // namespace attention_plasticity

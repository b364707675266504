#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/export.h"

/// @file
/// Rotary position embeddings (RoPE): from a model's config.json, or from settings, to the rotation of each layer.

namespace attention_plasticity {

/// Which two of the rotated components form a pair: i and i + dim/2 (Llama, Qwen, Gemma, Mistral), or 2i and 2i + 1
/// (GLM, GPT-J, Cohere).
enum class RotaryLayout { half, interleaved };

/// The rotation R(t) of a rotary position embedding (RoPE): at position t, pair i of a vector is rotated by
/// t · frequency[i]. The rotated components are first .. first + dim() - 1, and the others are unchanged; without
/// frequencies R = I.
struct Rotation {
  RotaryLayout layout = RotaryLayout::half;  ///< which components form a pair
  std::vector<double> frequency = {};        ///< radians per token
  double attention_factor = 1;               ///< the model multiplies the rotated components by it (yarn, longrope)
  std::size_t first = 0;                     ///< index of the first rotated component

  /// The number of rotated components.
  std::size_t dim() const { return 2 * frequency.size(); }
  /// R(tokens) v in place; a negative number un-rotates. `vector` has at least first + dim() components. Does not apply
  /// attention_factor. NaN stays NaN. Throws nothing. Thread-safe.
  AP_API void rotate(std::span<double> vector, double tokens) const;
  /// The same for floats, computed in double. Thread-safe.
  AP_API void rotate(std::span<float> vector, double tokens) const;
};

/// How a model's frequencies are computed from its theta.
enum class RotaryKind {
  none,      ///< no rotation
  standard,  ///< theta^(-2i/dim): RoPE (Su et al. 2021), spelled "default"
  linear,    ///< divided by `factor` (position interpolation, Chen et al. 2023)
  dynamic,   ///< standard up to the trained length; beyond it, dependent on the length of each sequence
  yarn,      ///< high ones standard, low ones divided by `factor`, a ramp between (YaRN, Peng et al. 2023)
  llama3,    ///< the same idea with a ramp over wavelengths (Llama 3.1)
  longrope,  ///< each divided by its own factor (LongRoPE, Ding et al. 2024)
  listed,    ///< one frequency for each pair, as `inv_freq` lists them
};

/// A rotation described by settings instead of a config.json.
struct RotarySettings {
  std::optional<double> theta = {};         ///< `rope_theta`, > 0; none: it must be in `scaling`
  std::optional<std::size_t> dim = {};      ///< `rope_dim`, even and > 0; none: all from `first` on
  std::optional<RotaryLayout> layout = {};  ///< `rope_layout`; none: half
  std::size_t first = 0;                    ///< `rope_first`: index of the first rotated component
  /// `rope_scaling`, a JSON object with the keys of a config.json's `rope_parameters`, and `max_position_embeddings`
  /// for kinds that need the trained length; none: the default kind.
  std::optional<std::string> scaling = {};
};

/// How one layer rotates its queries and keys.
struct LayerRotation {
  RotaryKind kind = RotaryKind::none;  ///< how the frequencies were computed
  double theta = 0;                    ///< base of the frequencies; 0 for kind none
  Rotation rotation = {};              ///< what analyze_head() takes
};

struct RotationRules;

/// How each layer of a model rotates its queries and keys. Copies share what they hold, which never changes: any number
/// of threads may use one object.
class AP_API ModelRotation {
 public:
  /// A model without rotation: R = I in every layer. Thread-safe.
  static ModelRotation none();
  /// The same rotation in every layer but `layers_without`, where R = I. Throws Error(usage) for settings that cannot
  /// be used. Thread-safe.
  static ModelRotation of_settings(const RotarySettings& settings, std::span<const int> layers_without = {});
  /// Reads a model's config.json, in current and older spellings; none when it does not mention a rotation. Throws
  /// Error(input) for text that is not a JSON object, Error(usage) for a rotation that is not known. Thread-safe.
  static std::optional<ModelRotation> of_model_config(std::string_view json);

  /// True when the rotation depends on the largest position: longrope chooses its factors by it, and dynamic is refused
  /// beyond the trained length. Throws nothing. Thread-safe.
  bool depends_on_length() const;

  /// The rotation of a layer whose vectors have `width` components, in a dump whose largest position is
  /// `largest_position` (used only when depends_on_length()). Throws Error(usage) for a width that does not fit, a
  /// layer that the config does not list, and positions beyond the trained length of a `dynamic` model. Thread-safe.
  LayerRotation layer(int layer, std::size_t width, double largest_position = 0) const;

 private:
  explicit ModelRotation(RotationRules rules);

  std::shared_ptr<const RotationRules> rules_;
};

}  // namespace attention_plasticity

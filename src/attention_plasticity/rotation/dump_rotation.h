#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "attention_plasticity/rotation.h"
#include "attention_plasticity/rotation/candidates.h"

namespace attention_plasticity {

/// The origin of a known rotation: a model's config.json, the settings of the run, or the vectors themselves.
enum class RotationSource { config, flags, inferred };

/// The input that a ModelRotation is made from, so that another process can make the same one. No rotation (R = I) if
/// neither `settings` nor `model_config` is set.
struct RotationOrigin {
  std::optional<RotarySettings> settings = {};
  std::vector<int> layers_without = {};          ///< layers in which R = I in spite of `settings`
  std::optional<std::string> model_config = {};  ///< the text of a config.json

  /// Throws Error as ModelRotation's functions do.
  ModelRotation model() const;
};

/// The rotation of a dump's queries and keys.
struct DumpRotation {
  ModelRotation model;
  double largest_position = 0;  ///< in tokens, of the whole dump; 0 when the rotation does not depend on it
  RotationSource source = RotationSource::config;
  std::set<int> unknown_layers = {};  ///< layers in which an inferred rotation does not fit the vectors
  RotationOrigin origin = {};         ///< of `model`
  /// Candidates that the vectors are compared with beside the common ones: the configured layout and components with
  /// refined theta (refined_candidates). None until they are determined; empty if there are none.
  std::optional<std::vector<RotationCandidate>> refined = {};

  bool is_known_in(int layer) const { return !unknown_layers.contains(layer); }
  LayerRotation layer(int number, std::size_t width) const { return model.layer(number, width, largest_position); }
};

/// A config.json that was read.
struct ModelConfigText {
  std::string file;  ///< for messages
  std::string text;
};

/// Everything that may state a dump's rotation, the strongest statement first.
struct StatedRotation {
  bool is_none = false;                         ///< `rope: none`
  std::optional<RotarySettings> settings = {};  ///< the `rope_*` settings; none if all are missing
  std::optional<ModelConfigText> given = {};    ///< the file `rope_config`
  std::span<const ModelConfigText> found = {};  ///< beside the heads, then in the dump's root
};

/// The rotation that is stated; none if nothing describes one. `largest_position` is called only for a rotation that
/// depends on it. Files among `found` that are not JSON objects are left out. Throws Error(usage) for a rotation that
/// cannot be used, and for a `given` file that describes none or is not a JSON object.
std::optional<DumpRotation> find_rotation(const StatedRotation& stated,
                                          const std::function<double()>& largest_position);

/// The layers that share a rotation.
struct LayersOfRotation {
  std::string rotation;  ///< "default, theta 100000, all 64 components, half"; "none"
  std::vector<int> layers;
};

/// Groups the layers of a dump by rotation, given the width of each layer's vectors. Throws Error(usage) for a width
/// that does not fit the rotation.
std::vector<LayersOfRotation> layers_by_rotation(const DumpRotation& rotation,
                                                 const std::map<int, std::size_t>& width_of_layer);

}  // namespace attention_plasticity

#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "attention_plasticity/dump/layout.h"
#include "attention_plasticity/rotation.h"
#include "attention_plasticity/run/config.h"

namespace attention_plasticity {

/// Who says how a model rotates its vectors: its config.json, the settings of the run, or the vectors themselves.
enum class RotationSource { config, flags, inferred };

/// What a ModelRotation was made of, so that another process can make the same. Neither member is set: no rotation.
struct RotationOrigin {
  std::optional<RotarySettings> settings = {};
  std::vector<int> layers_without = {};          ///< beside settings: layers in which R = I
  std::optional<std::string> model_config = {};  ///< the text of a config.json

  /// Throws Error as ModelRotation's functions do.
  ModelRotation model() const;
};

/// How the model of a dump rotates its vectors, and the dump's largest position.
struct DumpRotation {
  ModelRotation model;
  double largest_position = 0;  ///< in tokens, of the whole dump; 0 when the rotation does not depend on it
  RotationSource source = RotationSource::config;
  std::set<int> unknown_layers = {};  ///< layers in which an inferred rotation does not fit the vectors
  RotationOrigin origin = {};         ///< of `model`

  bool is_known_in(int layer) const { return !unknown_layers.contains(layer); }
  LayerRotation layer(int number, std::size_t width) const { return model.layer(number, width, largest_position); }
};

/// The rotation in the `rope_*` settings, else in `rope_config`, else in the config.json beside the heads or in the
/// dump's `root`. None when none of them describes one. Throws Error(usage) for a rotation that cannot be used.
std::optional<DumpRotation> find_rotation(const RunConfig& config, const std::filesystem::path& root,
                                          const DumpLayout& layout);

/// The rotation in the config.json beside the heads or in the dump's `root`; none when neither describes one. Throws
/// Error(usage) for an unknown kind of rotation.
std::optional<DumpRotation> rotation_in_dump(const std::filesystem::path& root, const DumpLayout& layout);

/// Which components are rotated: "all 64 components", "16 of 64 components", "components 32 to 63 of 64".
std::string components_text(std::size_t first, std::size_t dim, std::size_t width);

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

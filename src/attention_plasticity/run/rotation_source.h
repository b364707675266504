#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attention_plasticity/dump/layout.h"
#include "attention_plasticity/rotation.h"
#include "attention_plasticity/run/config.h"

namespace attention_plasticity {

/// How the model of a dump rotates its vectors, and the dump's largest position.
struct DumpRotation {
  ModelRotation model;
  double largest_position = 0;  ///< in tokens, of the whole dump; 0 when the rotation does not depend on it

  LayerRotation layer(int number, std::size_t width) const { return model.layer(number, width, largest_position); }
};

/// The rotation in the `rope_*` settings, else in `rope_config`, else in the config.json beside the heads or in the
/// dump's `root`. None when position-exact plasticity is off or the rotation is unknown; in the second case, one line
/// in `notes` says what to pass. Throws Error(usage) for a rotation that cannot be used.
std::optional<DumpRotation> find_rotation(const RunConfig& config, const std::filesystem::path& root,
                                          const DumpLayout& layout, std::vector<std::string>& notes);

/// The rotation in the config.json beside the heads or in the dump's `root`; none when neither describes one. Throws
/// Error(usage) for an unknown kind of rotation.
std::optional<DumpRotation> rotation_in_dump(const std::filesystem::path& root, const DumpLayout& layout);

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

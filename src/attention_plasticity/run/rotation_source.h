#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attention_plasticity/dump/layout.h"
#include "attention_plasticity/rotary/model_rotation.h"
#include "attention_plasticity/run/config.h"

namespace attention_plasticity {

/// How the model of a dump turns its vectors, and how far the dump reaches.
struct DumpRotation {
  ModelRotation model;
  double largest_position = 0;  ///< of the whole dump; 0 where the rotation does not depend on it

  LayerRotation layer(int number, std::size_t width) const { return model.layer(number, width, largest_position); }
};

/// From the `rope_*` settings, else `rope_config`, else the config.json beside the heads or in the dump's `root`.
/// None when position-exact plasticity is off, or nothing says how the model turns its vectors: one line in `notes`
/// then tells what to pass. Throws Error(usage) for a rotation that cannot be used.
std::optional<DumpRotation> find_rotation(const RunConfig& config, const std::filesystem::path& root,
                                          const DumpLayout& layout, std::vector<std::string>& notes);

/// What the config.json beside the heads or in the dump's `root` says; none when it says nothing or there is none.
/// Throws Error(usage) for a rotation that is not known.
std::optional<DumpRotation> rotation_in_dump(const std::filesystem::path& root, const DumpLayout& layout);

/// Layers that turn alike.
struct LayersTurningAlike {
  std::string rotation;  ///< "default, theta 100000, all 64 components, half"; "none"
  std::vector<int> layers;
};

/// The layers of a dump by how they turn, given the width of each layer's vectors. Throws Error(usage) for a width that
/// does not fit.
std::vector<LayersTurningAlike> layers_by_rotation(const DumpRotation& rotation,
                                                   const std::map<int, std::size_t>& width_of_layer);

}  // namespace attention_plasticity

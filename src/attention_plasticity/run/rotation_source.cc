#include "attention_plasticity/run/rotation_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/dump/head_file.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/rotary/rotary_parameters.h"
#include "attention_plasticity/run/read_ahead.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

bool has_settings(const RunConfig& config) {
  return config.rope_theta || config.rope_dim || config.rope_layout || config.rope_first || config.rope_scaling;
}

RotarySettings settings_of(const RunConfig& config) {
  RotarySettings settings{.theta = config.rope_theta, .layout = config.rope_layout, .scaling = config.rope_scaling};
  settings.first = static_cast<std::size_t>(config.rope_first.value_or(0));
  if (config.rope_dim) settings.dim = static_cast<std::size_t>(*config.rope_dim);
  return settings;
}

// None when the file does not mention a rotation. Throws Error(input) for a file that cannot be read or is not a JSON
// object.
std::optional<RotationOrigin> rotation_in(const fs::path& file, const DumpFiles& files = disk_files()) {
  try {
    if (!files.exists(file)) throw Error(ErrorKind::input, "there is no such file");
    std::string text = files.text(file);
    if (!ModelRotation::of_model_config(text)) return std::nullopt;
    return RotationOrigin{.model_config = std::move(text)};
  } catch (const Error& error) {
    throw Error(error.kind(), error.what(), file.string());
  }
}

[[noreturn]] void refuse_given(const std::string& file, std::string_view problem) {
  throw Error(ErrorKind::usage, fmt::format("rope_config: {}", problem), file);
}

RotationOrigin given_model_config(const std::string& file) {
  try {
    std::optional<RotationOrigin> rotation = rotation_in(file);
    if (rotation) return std::move(*rotation);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::input) refuse_given(file, error.what());
    throw;
  }
  refuse_given(file, "describes no rotation; pass `rope_theta`, or `rope: none` for a model without rotation");
}

// find_model_shape has already noted a config.json that is not JSON.
std::optional<RotationOrigin> found_model_config(const fs::path& root, const DumpLayout& layout) {
  for (const fs::path& folder : {layout.folder, root}) {
    try {
      if (std::optional<RotationOrigin> rotation = rotation_in(folder / "config.json", layout.files())) return rotation;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input) throw;
    }
  }
  return std::nullopt;
}

// Looks at every readable file, whichever heads are selected, so that a part of a run has the rotation of the whole.
double largest_position(const DumpLayout& layout) {
  double largest = 0;
  for_each_file(layout.files(), files_of(layout), HeadPart::tokens, [&](const ReadAhead::File& file) {
    try {
      const HeadTokens rows = read_head_tokens(layout.files().open(file.path), file.side);
      largest = std::max(largest, std::ranges::max(rows.position));
    } catch (const Error&) {
      return;  // reported when the head is read
    } catch (const std::bad_alloc&) {
      return;  // likewise
    }
  });
  return largest;
}

std::string described(const LayerRotation& layer, std::size_t width) {
  const std::string_view kind = rotary_kind_name(layer.kind);
  if (layer.kind == RotaryKind::none) return std::string(kind);
  return fmt::format("{}, theta {}, {}, {}", kind, layer.theta,
                     components_text(layer.rotation.first, layer.rotation.dim(), width),
                     layer.rotation.layout == RotaryLayout::half ? "half" : "interleaved");
}

DumpRotation with_length(RotationOrigin origin, RotationSource source, const DumpLayout& layout) {
  ModelRotation model = origin.model();
  const bool needs_length = model.depends_on_length();
  return {std::move(model), needs_length ? largest_position(layout) : 0, source, {}, std::move(origin)};
}

}  // namespace

ModelRotation RotationOrigin::model() const {
  if (settings) return ModelRotation::of_settings(*settings, layers_without);
  if (!model_config) return ModelRotation::none();
  std::optional<ModelRotation> model = ModelRotation::of_model_config(*model_config);
  if (!model) throw Error(ErrorKind::usage, "the model's config describes no rotation");
  return *std::move(model);
}

std::optional<DumpRotation> find_rotation(const RunConfig& config, const fs::path& root, const DumpLayout& layout) {
  if (config.rope == Rope::none) return with_length({}, RotationSource::flags, layout);
  if (has_settings(config)) {
    return with_length({.settings = settings_of(config)}, RotationSource::flags, layout);
  }
  if (config.rope_config) {
    return with_length(given_model_config(*config.rope_config), RotationSource::config, layout);
  }
  return rotation_in_dump(root, layout);
}

std::optional<DumpRotation> rotation_in_dump(const fs::path& root, const DumpLayout& layout) {
  std::optional<RotationOrigin> origin = found_model_config(root, layout);
  if (!origin) return std::nullopt;
  return with_length(std::move(*origin), RotationSource::config, layout);
}

std::string components_text(std::size_t first, std::size_t dim, std::size_t width) {
  if (dim == width) return fmt::format("all {} components", width);
  if (first == 0) return fmt::format("{} of {} components", dim, width);
  return fmt::format("components {} to {} of {}", first, first + dim - 1, width);
}

std::vector<LayersOfRotation> layers_by_rotation(const DumpRotation& rotation,
                                                 const std::map<int, std::size_t>& width_of_layer) {
  std::map<std::string, std::vector<int>> layers;
  for (const auto& [layer, width] : width_of_layer) {
    layers[described(rotation.layer(layer, width), width)].push_back(layer);
  }
  std::vector<LayersOfRotation> groups;
  groups.reserve(layers.size());
  for (auto& [description, numbers] : layers) groups.push_back({description, std::move(numbers)});
  return groups;
}

}  // namespace attention_plasticity

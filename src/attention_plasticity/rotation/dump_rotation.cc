#include "attention_plasticity/rotation/dump_rotation.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "attention_plasticity/error.h"
#include "attention_plasticity/rotary/rotary_parameters.h"

namespace attention_plasticity {
namespace {

// None when the config does not mention a rotation. Throws Error(input) for text that is not a JSON object.
std::optional<RotationOrigin> origin_in(const ModelConfigText& config) {
  try {
    if (!ModelRotation::of_model_config(config.text)) return std::nullopt;
    return RotationOrigin{.model_config = config.text};
  } catch (const Error& error) {
    throw Error(error.kind(), error.what(), config.file);
  }
}

RotationOrigin given_origin(const ModelConfigText& given) {
  std::string problem = "describes no rotation; pass `rope_theta`, or `rope: none` for a model without rotation";
  try {
    if (std::optional<RotationOrigin> origin = origin_in(given)) return *std::move(origin);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    problem = error.what();
  }
  throw Error(ErrorKind::usage, fmt::format("rope_config: {}", problem), given.file);
}

std::optional<RotationOrigin> found_origin(std::span<const ModelConfigText> configs) {
  for (const ModelConfigText& config : configs) {
    try {
      if (std::optional<RotationOrigin> origin = origin_in(config)) return origin;
    } catch (const Error& error) {
      // The search for the model's shape warns of a config.json that is not JSON.
      if (error.kind() != ErrorKind::input) throw;
    }
  }
  return std::nullopt;
}

std::string described(const LayerRotation& layer, std::size_t width) {
  const std::string_view kind = rotary_kind_name(layer.kind);
  if (layer.kind == RotaryKind::none) return std::string(kind);
  return fmt::format("{}, theta {}, {}, {}", kind, layer.theta,
                     components_text({layer.rotation.first, layer.rotation.dim()}, width),
                     layer.rotation.layout == RotaryLayout::half ? "half" : "interleaved");
}

}  // namespace

ModelRotation RotationOrigin::model() const {
  if (settings) return ModelRotation::of_settings(*settings, layers_without);
  if (!model_config) return ModelRotation::none();
  std::optional<ModelRotation> model = ModelRotation::of_model_config(*model_config);
  if (!model) throw Error(ErrorKind::usage, "the model's config describes no rotation");
  return *std::move(model);
}

std::optional<DumpRotation> find_rotation(const StatedRotation& stated,
                                          const std::function<double()>& largest_position) {
  RotationSource source = RotationSource::flags;
  std::optional<RotationOrigin> origin;
  if (stated.is_none) {
    origin.emplace();
  } else if (stated.settings) {
    origin = RotationOrigin{.settings = stated.settings};
  } else {
    source = RotationSource::config;
    origin = stated.given ? given_origin(*stated.given) : found_origin(stated.found);
  }
  if (!origin) return std::nullopt;
  ModelRotation model = origin->model();
  const double largest = model.depends_on_length() ? largest_position() : 0;
  return DumpRotation{std::move(model), largest, source, {}, *std::move(origin), {}};
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

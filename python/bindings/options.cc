#include "options.h"

#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/options/config_fields.h"

namespace nb = nanobind;

namespace attention_plasticity::python {
namespace {

ModelRotation rotation_in(const std::string& file) {
  std::optional<ModelRotation> rotation;
  try {
    rotation = ModelRotation::of_model_config(read_text_file(file));
  } catch (const Error& error) {
    throw Error(ErrorKind::usage, std::string("`rope_config`: ") + error.what(), file);
  }
  if (rotation) return std::move(*rotation);
  throw Error(ErrorKind::usage,
              "`rope_config`: describes no rotation; pass `rope_theta`, or `rope: none` for a model without rotation",
              file);
}

}  // namespace

nb::list field_list() { return list_of_fields(config_table()); }

std::optional<ModelRotation> rotation_of(const RunConfig& config) {
  if (config.rope == Rope::none) return ModelRotation::none();
  if (config.rope_theta || config.rope_dim || config.rope_layout || config.rope_first || config.rope_scaling) {
    RotarySettings settings{.theta = config.rope_theta, .layout = config.rope_layout, .scaling = config.rope_scaling};
    settings.first = static_cast<std::size_t>(config.rope_first.value_or(0));
    if (config.rope_dim) settings.dim = static_cast<std::size_t>(*config.rope_dim);
    return ModelRotation::of_settings(settings);
  }
  if (config.rope_config) return rotation_in(*config.rope_config);
  return std::nullopt;
}

}  // namespace attention_plasticity::python

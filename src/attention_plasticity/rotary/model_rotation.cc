#include "attention_plasticity/rotation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "attention_plasticity/base/nearest_name.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/json/json.h"
#include "attention_plasticity/rotary/rotary_json.h"
#include "attention_plasticity/rotary/rotation_rules.h"

namespace attention_plasticity {
namespace {

template <class Float>
void rotate_pairs(const Rotation& rotation, std::span<Float> vector, double tokens) {
  const bool half = rotation.layout == RotaryLayout::half;
  const std::size_t pairs = rotation.frequency.size();
  const std::size_t stride = half ? 1 : 2;
  const std::size_t partner = half ? pairs : 1;
  for (std::size_t i = 0; i < pairs; ++i) {
    const double angle = tokens * rotation.frequency[i];
    const double cosine = std::cos(angle);
    const double sine = std::sin(angle);
    Float& first = vector[rotation.first + i * stride];
    Float& second = vector[rotation.first + i * stride + partner];
    const double x = first;
    const double y = second;
    first = static_cast<Float>(x * cosine - y * sine);
    second = static_cast<Float>(x * sine + y * cosine);
  }
}

constexpr std::array<std::string_view, 17> scaling_keys{"rope_type",
                                                        "type",
                                                        "rope_theta",
                                                        "factor",
                                                        "attention_factor",
                                                        "mscale",
                                                        "mscale_all_dim",
                                                        "beta_fast",
                                                        "beta_slow",
                                                        "truncate",
                                                        "low_freq_factor",
                                                        "high_freq_factor",
                                                        "short_factor",
                                                        "long_factor",
                                                        "inv_freq",
                                                        "original_max_position_embeddings",
                                                        "max_position_embeddings"};

void check_scaling_keys(const nlohmann::json& scaling) {
  for (const auto& item : scaling.items()) {
    const std::string& key = item.key();
    if (std::ranges::find(scaling_keys, key) != scaling_keys.end()) continue;
    if (key == "partial_rotary_factor") {
      throw Error(ErrorKind::usage,
                  "rope_scaling.partial_rotary_factor: set the number of rotated components with rope_dim");
    }
    const std::optional<std::string> nearest = nearest_name(key, scaling_keys);
    throw Error(ErrorKind::usage,
                fmt::format("rope_scaling.{}: unknown key; {}", key,
                            nearest ? fmt::format("did you mean {}?", *nearest)
                                    : fmt::format("the known keys are {}", fmt::join(scaling_keys, ", "))));
  }
}

/// Reads `rope_scaling`. Its theta must not contradict `rope_theta`.
void read_scaling(const std::string& text, std::optional<double>& theta, RotaryParameters& parameters) {
  const nlohmann::json scaling = parse_json_object(text, {.subject = "rope_scaling", .kind = ErrorKind::usage});
  check_scaling_keys(scaling);
  const JsonFields fields(scaling, "rope_scaling.");
  if (const std::optional<std::string> name = rope_type(fields)) {
    parameters.kind = known_rotary_kind(*name);
  } else if (std::ranges::any_of(scaling.items(), [](const auto& item) { return item.key() != "rope_theta"; })) {
    fields.refuse("rope_type", fmt::format("one of {}", rotary_kind_names()));
  }
  read_rotary_parameters(fields, parameters);
  parameters.trained_length = fields.number("max_position_embeddings");
  const std::optional<double> own = fields.number("rope_theta");
  if (own && theta && *own != *theta) {
    throw Error(ErrorKind::usage,
                fmt::format("rope_theta is {}, rope_scaling.rope_theta {}; set only one of them", *theta, *own));
  }
  if (own) theta = own;
}

std::size_t rotated_dim(const RotationRule& rule, std::size_t first, std::size_t width) {
  if (first >= width) {
    throw Error(ErrorKind::usage, fmt::format("the first rotated component is {}, the vectors have {}", first, width));
  }
  // Without a number, the components from the first on.
  const std::size_t all = width - first;
  const std::size_t dim = rule.dim ? *rule.dim : static_cast<std::size_t>(static_cast<double>(all) * rule.partial);
  if (dim > all) {
    throw Error(ErrorKind::usage, fmt::format("the rotation has {} components{}, the vectors have {}", dim,
                                              first == 0 ? "" : fmt::format(" from component {} on", first), width));
  }
  return dim;
}

}  // namespace

void Rotation::rotate(std::span<double> vector, double tokens) const { rotate_pairs(*this, vector, tokens); }

void Rotation::rotate(std::span<float> vector, double tokens) const { rotate_pairs(*this, vector, tokens); }

std::optional<std::size_t> LayerPattern::at(int layer) const {
  if (layer < 0 || values.empty()) return std::nullopt;
  const auto index = static_cast<std::size_t>(layer);
  if (index < values.size()) return values[index];
  return repeats ? std::optional(values[index % values.size()]) : std::nullopt;
}

ModelRotation::ModelRotation(RotationRules rules) : rules_(std::make_shared<const RotationRules>(std::move(rules))) {}

ModelRotation ModelRotation::none() {
  RotationRules rules;
  rules.rotates = {{0}, true};
  return ModelRotation(std::move(rules));
}

ModelRotation ModelRotation::of_settings(const RotarySettings& settings, std::span<const int> layers_without) {
  RotationRule rule;
  rule.dim = settings.dim;
  rule.first = settings.first;
  if (settings.dim && (*settings.dim == 0 || *settings.dim % 2 != 0)) {
    throw Error(ErrorKind::usage, fmt::format("rope_dim is {}; an even number above 0 is expected", *settings.dim));
  }
  std::optional<double> theta = settings.theta;
  if (settings.scaling) read_scaling(*settings.scaling, theta, rule.parameters);
  if (!theta) {
    throw Error(ErrorKind::usage,
                "rope_theta is missing; set the base of the model's rotary frequencies (10000 in many models)");
  }
  rule.parameters.theta = *theta;
  check_rotary_parameters(rule.parameters);

  RotationRules rules;
  rules.layout = settings.layout.value_or(RotaryLayout::half);
  rules.list.push_back(std::move(rule));
  for (const int layer : layers_without) rules.layers_without.insert(layer);
  return ModelRotation(std::move(rules));
}

std::optional<ModelRotation> ModelRotation::of_model_config(std::string_view json) {
  std::optional<RotationRules> rules = rules_of_model_config(json);
  if (!rules) return std::nullopt;
  return ModelRotation(std::move(*rules));
}

bool ModelRotation::depends_on_length() const {
  return std::ranges::any_of(rules_->list, [](const RotationRule& rule) {
    return rule.parameters.kind == RotaryKind::dynamic || rule.parameters.kind == RotaryKind::longrope;
  });
}

LayerRotation ModelRotation::layer(int layer, std::size_t width, double largest_position) const {
  const bool absorbed = rules_->absorbed_dim == width;
  if (rules_->head_dim && *rules_->head_dim != width && !absorbed) {
    throw Error(ErrorKind::usage, fmt::format("the vectors have {} components, the model's config says head_dim {}",
                                              width, *rules_->head_dim));
  }
  const std::optional<std::size_t> rotates = rules_->rotates.at(layer);
  const std::optional<std::size_t> index = rules_->rule_of.at(layer);
  if (!rotates || !index) {
    throw Error(ErrorKind::usage, fmt::format("the model's config does not list layer {}", layer));
  }
  LayerRotation result;
  result.rotation.layout = rules_->layout;
  if (*rotates == 0 || rules_->layers_without.contains(layer)) return result;
  const RotationRule& rule = rules_->list.at(*index);
  if (!rule.refusal.empty()) throw Error(ErrorKind::usage, fmt::format("layer {}: {}", layer, rule.refusal));
  if (rule.parameters.kind == RotaryKind::none) return result;
  result.kind = rule.parameters.kind;
  result.theta = rule.parameters.theta;
  const std::size_t first = absorbed ? 0 : rule.first;
  result.rotation = make_rotation(rule.parameters, rotated_dim(rule, first, width), rules_->layout, largest_position);
  result.rotation.first = first;
  return result;
}

}  // namespace attention_plasticity

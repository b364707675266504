// Reads RotationRules from a config.json as transformers 5 does, in current and older spellings.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <utility>

#include "attention_plasticity/error.h"
#include "attention_plasticity/json/json.h"
#include "attention_plasticity/rotary/model_family.h"
#include "attention_plasticity/rotary/rotary_json.h"
#include "attention_plasticity/rotary/rotation_rules.h"

namespace attention_plasticity {
namespace {

using nlohmann::json;

constexpr std::string_view sliding_attention = "sliding_attention";
constexpr std::string_view full_attention = "full_attention";

/// A model's config and the defaults of its type.
struct Config {
  JsonFields fields;
  std::string model_type;
  ModelFamily family;
  bool is_known;  ///< whether the model type is known; if not, `family` holds general defaults
};

Config config_of(const JsonFields& fields) {
  std::string type = fields.text("model_type").value_or("");
  const ModelFamily* const family = model_family_of(type);
  // The default theta of an unknown model type is unknown, so the config must have one.
  return {fields, std::move(type), family == nullptr ? ModelFamily{.theta = 0} : *family, family != nullptr};
}

std::optional<std::size_t> first_count(const JsonFields& fields, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (const std::optional<std::size_t> value = fields.count(key)) return value;
  }
  return std::nullopt;
}

bool names_rotation(const JsonFields& fields) {
  constexpr std::array<std::string_view, 8> keys{"rope_parameters",      "rope_theta",           "rope_scaling",
                                                 "rotary_emb_base",      "rotary_pct",           "rotary_dim",
                                                 "rope_local_base_freq", "partial_rotary_factor"};
  return std::ranges::any_of(keys, [&](std::string_view key) {
    const json* const value = fields.find(key);
    return value != nullptr && !(value->is_object() && value->empty());
  });
}

std::optional<std::size_t> head_dim_of(const Config& config) {
  if (const std::optional<std::size_t> own = config.fields.count("head_dim")) return own;
  if (config.family.head_dim != 0) return config.family.head_dim;
  const auto hidden = first_count(config.fields, {"hidden_size", "n_embd", "n_embed"});
  const auto heads = first_count(config.fields, {"num_attention_heads", "n_head"});
  if (!hidden || !heads) return std::nullopt;
  if (*hidden < *heads) {
    throw Error(ErrorKind::usage,
                fmt::format("hidden_size is {}; at least num_attention_heads ({}) is expected", *hidden, *heads));
  }
  return *hidden / *heads;
}

/// The attention of each layer: `layer_types`, or a repeating pattern; none when the config has neither.
struct LayerTypes {
  std::vector<std::string> names;
  bool repeats = false;

  template <typename Index>
  LayerPattern indexed(Index index) const {
    LayerPattern pattern{{}, repeats};
    std::ranges::transform(names, std::back_inserter(pattern.values), index);
    return pattern;
  }
};

std::optional<LayerTypes> layer_types_of(const Config& config) {
  if (auto listed = config.fields.texts("layer_types"); listed && !listed->empty()) {
    return LayerTypes{std::move(*listed), false};
  }
  auto pattern = first_count(config.fields, {"sliding_window_pattern", "_sliding_window_pattern"});
  if (!pattern && config.family.sliding_pattern != 0) pattern = config.family.sliding_pattern;
  if (!pattern) return std::nullopt;
  LayerTypes types{std::vector<std::string>(*pattern, std::string(sliding_attention)), true};
  types.names.back() = full_attention;
  return types;
}

LayerTypes required_layer_types(const Config& config) {
  std::optional<LayerTypes> types = layer_types_of(config);
  if (!types) {
    throw Error(ErrorKind::usage,
                fmt::format("layer_types is missing, and layers of different attention rotate differently; {}",
                            rotation_by_hand()));
  }
  return std::move(*types);
}

/// Reads the kind; Phi-3 spells longrope "su" or "yarn".
void read_kind(const Config& config, const JsonFields& fields, RotaryKind& kind) {
  const std::optional<std::string> name = rope_type(fields);
  if (!name) return;
  const bool is_longrope = config.model_type == "phi3" && (*name == "su" || *name == "yarn");
  kind = is_longrope ? RotaryKind::longrope : known_rotary_kind(*name);
}

double partial_of(const Config& config, const JsonFields* own) {
  std::optional<double> partial = own == nullptr ? std::nullopt : own->number("partial_rotary_factor");
  if (!partial) partial = config.fields.number("partial_rotary_factor");
  if (!partial) partial = config.fields.number("rotary_pct");
  if (!partial) return config.family.partial;
  const bool is_share = *partial > 0 && *partial <= 1;
  if (!is_share) {
    throw Error(ErrorKind::usage,
                fmt::format("partial_rotary_factor is {}; a number above 0 and not above 1 is expected", *partial));
  }
  return *partial;
}

/// The rotation that `objects` (rope_parameters, rope_scaling) and the top level of the config describe. A later object
/// overrides an earlier one.
RotationRule rule_of(const Config& config, std::optional<double> theta, const std::vector<JsonFields>& objects) {
  RotationRule rule;
  RotaryParameters& parameters = rule.parameters;
  const bool names_theta =
      std::ranges::any_of(objects, [](const JsonFields& object) { return object.find("rope_theta"); });
  if (!theta && !names_theta) {
    throw Error(ErrorKind::usage,
                fmt::format("rope_theta is missing, and the default of model type {} is not known; {}",
                            shown_json(json(config.model_type)), rotation_by_hand()));
  }
  if (theta) parameters.theta = *theta;
  parameters.trained_length = config.fields.number("max_position_embeddings");
  for (const JsonFields& object : objects) {
    read_kind(config, object, parameters.kind);
    read_rotary_parameters(object, parameters);
  }
  // The top level overrides the parameters, as in transformers.
  if (const auto length = config.fields.number("original_max_position_embeddings")) parameters.original_length = length;
  rule.partial = partial_of(config, objects.empty() ? nullptr : &objects.front());
  rule.dim = config.fields.count("rotary_dim");
  if (!rule.dim && config.family.rotary_dim != 0) rule.dim = config.family.rotary_dim;
  check_rotary_parameters(parameters);
  return rule;
}

/// The theta under the first of `keys` that the config has, else `usual`; none if that is 0.
std::optional<double> theta_of(const Config& config, std::initializer_list<std::string_view> keys, double usual) {
  for (const std::string_view key : keys) {
    const std::optional<double> theta = config.fields.number(key);
    if (theta && !(*theta > 0)) config.fields.refuse(key, "a number above 0");
    if (theta) return theta;
  }
  return usual != 0 ? std::optional(usual) : std::nullopt;
}

std::optional<double> theta_of(const Config& config) {
  return theta_of(config, {"rope_theta", "rotary_emb_base"}, config.family.theta);
}

/// Theta of layers with sliding attention, if it differs from that of the others.
std::optional<double> sliding_theta_of(const Config& config) {
  return theta_of(config, {"rope_local_base_freq"}, config.family.sliding_theta);
}

/// Whether `rope_parameters` holds one object for each type of layer.
bool is_per_layer_type(const JsonFields& parameters) {
  return !rope_type(parameters) &&
         std::ranges::any_of(parameters.object(), [](const json& value) { return value.is_object(); });
}

/// One rule for each type of layer; null means that such layers are not rotated. Numbers beside the objects are
/// ignored, as in transformers, which used to leave its default theta there.
void add_rules_per_layer_type(const Config& config, const JsonFields& parameters,
                              const std::optional<JsonFields>& scaling, RotationRules& rules) {
  const LayerTypes types = required_layer_types(config);
  std::vector<std::string> names;
  for (const auto& item : parameters.object().items()) {
    const std::string& name = item.key();
    if (!item.value().is_object() && !item.value().is_null()) continue;
    names.push_back(name);
    if (const std::optional<JsonFields> own = parameters.fields(name)) {
      std::vector<JsonFields> objects{*own};
      if (scaling && name == full_attention) objects.push_back(*scaling);
      const std::optional<double> theta = name == sliding_attention ? sliding_theta_of(config) : std::nullopt;
      rules.list.push_back(rule_of(config, theta ? theta : theta_of(config), objects));
    } else {
      rules.list.emplace_back().parameters.kind = RotaryKind::none;
    }
  }
  rules.rule_of = types.indexed([&](const std::string& type) {
    const auto index = static_cast<std::size_t>(std::ranges::find(names, type) - names.begin());
    if (index == names.size()) {
      names.push_back(type);
      rules.list.emplace_back().refusal =
          fmt::format("rope_parameters has no entry for layers of type {}", shown_json(json(type)));
    }
    return index;
  });
}

/// One rule for all layers, and a second one for layers with sliding attention in models that treat them differently.
void add_flat_rules(const Config& config, const std::vector<JsonFields>& objects, RotationRules& rules) {
  rules.list.push_back(rule_of(config, theta_of(config), objects));
  const std::optional<double> sliding_theta = sliding_theta_of(config);
  if (!sliding_theta && !config.family.scales_full_layers_only) return;
  RotationRule sliding = rules.list.front();
  sliding.parameters = {};
  sliding.parameters.theta = sliding_theta.value_or(rules.list.front().parameters.theta);
  rules.list.push_back(std::move(sliding));
  rules.rule_of = required_layer_types(config).indexed(
      [](const std::string& type) -> std::size_t { return type == sliding_attention ? 1 : 0; });
}

LayerPattern rotated_layers(const Config& config) {
  LayerPattern all{{1}, true};
  if (config.family.rotated != RotatedLayers::all) {
    const bool has_no_window =
        config.fields.object().contains("sliding_window") && config.fields.find("sliding_window") == nullptr;
    if (config.family.rotated == RotatedLayers::sliding_when_windowed && has_no_window) return all;
    return required_layer_types(config).indexed(
        [](const std::string& type) -> std::size_t { return type == sliding_attention ? 1 : 0; });
  }
  if (const auto flags = config.fields.flags("no_rope_layers"); flags && !flags->empty()) {
    return {{flags->begin(), flags->end()}, false};
  }
  const std::size_t interval = config.fields.count("no_rope_layer_interval").value_or(config.family.no_rope_interval);
  if (interval == 0) return all;
  LayerPattern pattern{std::vector<std::size_t>(interval, 1), true};
  pattern.values.back() = 0;
  return pattern;
}

/// Multi-head latent attention (DeepSeek V2, V3 and their kin): a vector is `qk_nope_head_dim` components that are not
/// rotated, then `qk_rope_head_dim` that are. `head_dim` is not the width of a vector there. Absorbed queries and keys
/// have the components of the latent space in place of the first part, after the rotated ones, as llama.cpp compares
/// them.
void read_latent_attention(const JsonFields& fields, RotationRules& rules) {
  const std::size_t plain = fields.count("qk_nope_head_dim").value_or(0);
  const std::size_t rotated = fields.count("qk_rope_head_dim").value_or(0);
  rules.head_dim = plain + rotated;
  if (const std::optional<std::size_t> rank = fields.count("kv_lora_rank")) rules.absorbed_dim = *rank + rotated;
  for (RotationRule& rule : rules.list) {
    rule.first = plain;
    rule.dim = rotated;
  }
}

/// Two keys of our own, which no model has: synthetic dumps say with them what models leave to their classes.
void read_own_keys(const JsonFields& fields, RotationRules& rules) {
  if (const std::optional<std::string> layout = fields.text("rope_layout")) {
    if (layout != "half" && layout != "interleaved") fields.refuse("rope_layout", "half or interleaved");
    rules.layout = layout == "half" ? RotaryLayout::half : RotaryLayout::interleaved;
  }
  if (const std::optional<std::size_t> first = fields.count("rope_first")) {
    for (RotationRule& rule : rules.list) rule.first = *first;
  }
}

RotationRule listed_rule(const JsonFields& fields) {
  RotationRule rule;
  if (const std::optional<std::string> name = rope_type(fields)) rule.parameters.kind = known_rotary_kind(*name);
  read_rotary_parameters(fields, rule.parameters);
  rule.parameters.trained_length = fields.number("max_position_embeddings");
  rule.dim = fields.count("rope_dim");
  rule.first = fields.count("rope_first").value_or(0);
  check_rotary_parameters(rule.parameters);
  return rule;
}

// Reads a config that lists the rotation of each layer, as a capture of a GGUF file writes it: `rope_rotations`, the
// different ones, and `rope_layers`, for each layer the number of its rotation, or null where vectors are not rotated.
// A rotation has the keys of `rope_parameters`, and `rope_first` and `rope_dim`, the first and the number of rotated
// components. Of the rest of the config, only `head_dim` is read. None when there is no such list. Throws
// Error(usage) for a list that cannot be used.
std::optional<RotationRules> rules_of_layer_list(const JsonFields& fields) {
  const json* const layers = fields.find("rope_layers");
  if (layers == nullptr) return std::nullopt;
  if (!layers->is_array() || layers->empty()) fields.refuse("rope_layers", "a list with an entry for each layer");
  RotationRules rules;
  rules.head_dim = fields.count("head_dim");
  if (const json* const rotations = fields.find("rope_rotations")) {
    if (!rotations->is_array()) fields.refuse("rope_rotations", "a list of objects");
    for (const json& rotation : *rotations) {
      if (!rotation.is_object()) fields.refuse("rope_rotations", "a list of objects only");
      rules.list.push_back(listed_rule(JsonFields(rotation, fmt::format("rope_rotations.{}.", rules.list.size()))));
    }
  }
  rules.rule_of = {{}, false};
  rules.rotates = {{}, false};
  for (const json& layer : *layers) {
    const auto last = static_cast<std::int64_t>(rules.list.size()) - 1;
    const std::optional<std::int64_t> number = layer.is_null() ? std::nullopt : whole_number(layer, 0, last);
    if (!number && !layer.is_null()) fields.refuse("rope_layers", "a list of nulls and numbers of rope_rotations");
    rules.rule_of.values.push_back(static_cast<std::size_t>(number.value_or(0)));
    rules.rotates.values.push_back(number ? 1 : 0);
  }
  return rules;
}

std::optional<RotationRules> rules_of(const JsonFields& fields) {
  if (std::optional<RotationRules> listed = rules_of_layer_list(fields)) return listed;
  const Config config = config_of(fields);
  if (fields.flag("alibi").value_or(false)) return std::nullopt;
  RotationRules rules;
  // Granite 4 models without rotation keep a rope_theta.
  if (fields.text("position_embedding_type") == "nope" || config.family.rotated == RotatedLayers::none) {
    rules.rotates = {{0}, true};
    return rules;
  }
  if (!config.is_known && !names_rotation(fields)) return std::nullopt;
  rules.layout = config.family.layout;
  const bool is_latent = fields.find("qk_nope_head_dim") != nullptr && fields.find("qk_rope_head_dim") != nullptr;
  if (!is_latent) rules.head_dim = head_dim_of(config);
  const std::optional<JsonFields> parameters = fields.fields("rope_parameters");
  const std::optional<JsonFields> scaling = fields.fields("rope_scaling");
  if (parameters && is_per_layer_type(*parameters)) {
    add_rules_per_layer_type(config, *parameters, scaling, rules);
  } else {
    std::vector<JsonFields> objects;
    if (parameters) objects.push_back(*parameters);
    if (scaling) objects.push_back(*scaling);
    json usual;
    if (objects.empty() && !config.family.scaling.empty()) {
      usual = json::parse(config.family.scaling);
      objects.emplace_back(usual);
    }
    add_flat_rules(config, objects, rules);
  }
  if (is_latent) read_latent_attention(fields, rules);
  read_own_keys(fields, rules);
  rules.rotates = rotated_layers(config);
  return rules;
}

}  // namespace

std::optional<RotationRules> rules_of_model_config(std::string_view text) {
  const json config = parse_json_object(text, {.subject = "the model's config"});
  const JsonFields fields(config);
  if (const std::optional<JsonFields> of_text = fields.fields("text_config")) {
    if (std::optional<RotationRules> rules = rules_of(*of_text)) return rules;
  }
  return rules_of(fields);
}

}  // namespace attention_plasticity

#include "attention_plasticity/rotary/layer_list.h"

#include <fmt/format.h>

#include <cstdint>

#include "attention_plasticity/json/json.h"

namespace attention_plasticity {
namespace {

using nlohmann::json;

RotationRule rule_of(const JsonFields& fields) {
  RotationRule rule;
  if (const std::optional<std::string> name = rope_type(fields)) rule.parameters.kind = known_rotary_kind(*name);
  read_rotary_parameters(fields, rule.parameters);
  rule.parameters.trained_length = fields.number("max_position_embeddings");
  rule.dim = fields.count("rope_dim");
  rule.first = fields.count("rope_first").value_or(0);
  check_rotary_parameters(rule.parameters);
  return rule;
}

}  // namespace

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
      rules.list.push_back(rule_of(JsonFields(rotation, fmt::format("rope_rotations.{}.", rules.list.size()))));
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

}  // namespace attention_plasticity

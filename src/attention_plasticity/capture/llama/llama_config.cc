#include "attention_plasticity/capture/llama/llama_config.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>

#include "attention_plasticity/json/json.h"

namespace attention_plasticity {
namespace {

Json rotation_json(const RopeParameters& parameters) {
  const LayerRotation layer = rotation_of(parameters);
  Json json;
  const bool is_standard = layer.kind == RotaryKind::standard;
  json["rope_type"] = is_standard ? "default" : "listed";
  json["rope_theta"] = layer.theta;
  if (layer.rotation.first > 0) json["rope_first"] = layer.rotation.first;
  json["rope_dim"] = layer.rotation.dim();
  if (!is_standard) {
    json["attention_factor"] = layer.rotation.attention_factor;
    json["inv_freq"] = layer.rotation.frequency;
  }
  return json;
}

Json layer_json(const AttentionLayer& layer) {
  if (layer.q_heads == 0) return nullptr;
  Json json;
  json["q_heads"] = layer.q_heads;
  json["k_heads"] = layer.k_heads;
  json["width"] = layer.width;
  json["window"] = value_or_null(layer.window);
  json["scale"] = layer.scale;
  json["softcap"] = layer.softcap == 0 ? Json(nullptr) : Json(layer.softcap);
  json["sinks"] = layer.sinks.empty() ? Json(nullptr) : Json(layer.sinks);
  return json;
}

}  // namespace

std::string config_text(const std::vector<AttentionLayer>& layers, const ConfigFacts& facts) {
  Json json;
  json["architecture"] = facts.architecture;
  json["captured_by"] = {{"libllama", facts.program}, {"exact", facts.exact}};
  json["num_hidden_layers"] = layers.size();
  const HeadCounts heads = largest_head_counts(layers);
  json["num_attention_heads"] = heads.queries;
  json["num_key_value_heads"] = heads.keys;
  std::set<std::size_t> widths;
  for (const AttentionLayer& layer : layers) {
    if (layer.q_heads > 0) widths.insert(layer.width);
  }
  if (widths.size() == 1) json["head_dim"] = *widths.begin();
  json["max_position_embeddings"] = facts.trained_length;
  Json rotations = Json::array();
  Json rotation_of_layer = Json::array();
  Json attention = Json::array();
  for (const AttentionLayer& layer : layers) {
    attention.push_back(layer_json(layer));
    if (!layer.rope) {
      rotation_of_layer.push_back(nullptr);
      continue;
    }
    const Json rotation = rotation_json(*layer.rope);
    const auto found = std::find(rotations.begin(), rotations.end(), rotation);
    rotation_of_layer.push_back(found - rotations.begin());
    if (found == rotations.end()) rotations.push_back(rotation);
  }
  json["rope_layers"] = rotation_of_layer;
  json["rope_rotations"] = rotations;
  json["attention_layers"] = attention;
  return json_text(json, 1) + "\n";
}

}  // namespace attention_plasticity

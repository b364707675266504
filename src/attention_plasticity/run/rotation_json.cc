#include "attention_plasticity/run/rotation_json.h"

#include <cmath>

#include "attention_plasticity/json/json.h"
#include "attention_plasticity/run/rotation_check.h"

namespace attention_plasticity {
namespace {

std::string source_name(std::optional<RotationSource> source) {
  if (!source) return "none";
  switch (*source) {
    case RotationSource::config:
      return "config";
    case RotationSource::flags:
      return "flags";
    case RotationSource::inferred:
      return "inferred";
  }
  return "none";
}

Json way_json(const RotationWay& way, std::size_t width) {
  if (!way.shape) return {{"kind", "none"}};
  const DescribedWay described = described_way(way, width);
  return {{"kind", "default"},
          {"theta", way.theta},
          {"layout", way.shape->layout == RotaryLayout::half ? "half" : "interleaved"},
          {"first", described.components.first},
          {"dim", described.components.dim}};
}

}  // namespace

std::string rotation_json_text(std::optional<RotationSource> source, const RotationShares* shares) {
  Json json{{"source", source_name(source)},
            {"ways", nullptr},
            {"share", nullptr},
            {"configured", nullptr},
            {"layers", nullptr}};
  if (shares == nullptr) return json.dump();
  // Ways that the width of some file does not allow are left out.
  const std::span<const RotationWay> ways = known_ways();
  const auto known = [&](const EnergyShares& of) {
    Json list = Json::array();
    for (std::size_t i = 0; i < ways.size(); ++i) {
      if (!std::isnan(shares->dump.known[i])) list.push_back(of.known[i]);
    }
    return list;
  };
  json["ways"] = Json::array();
  for (std::size_t i = 0; i < ways.size(); ++i) {
    if (!std::isnan(shares->dump.known[i])) json["ways"].push_back(way_json(ways[i], shares->width));
  }
  json["share"] = known(shares->dump);
  json["configured"] = shares->dump.configured;
  json["layers"] = Json::array();
  for (const LayerShares& layer : shares->layers) {
    json["layers"].push_back(
        {{"layer", layer.layer}, {"share", known(layer.shares)}, {"configured", layer.shares.configured}});
  }
  return json.dump();
}

}  // namespace attention_plasticity

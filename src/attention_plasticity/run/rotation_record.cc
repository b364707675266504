#include "attention_plasticity/run/rotation_record.h"

#include <limits>
#include <utility>

namespace attention_plasticity {
namespace {

using nlohmann::json;

// JSON has no NaN: it is written as null.
double number(const json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

std::vector<double> numbers(const json& list) {
  std::vector<double> values;
  values.reserve(list.size());
  for (const json& value : list) values.push_back(number(value));
  return values;
}

Json settings_record(const RotarySettings& settings) {
  return {{"theta", value_or_null(settings.theta)},
          {"dim", value_or_null(settings.dim)},
          {"layout", settings.layout ? Json(*settings.layout == RotaryLayout::half ? "half" : "interleaved") : Json()},
          {"first", settings.first},
          {"scaling", value_or_null(settings.scaling)}};
}

RotarySettings recorded_settings(const json& record) {
  RotarySettings settings{.theta = recorded_or_none<double>(record.at("theta")),
                          .dim = recorded_or_none<std::size_t>(record.at("dim")),
                          .first = recorded<std::size_t>(record.at("first")),
                          .scaling = recorded_or_none<std::string>(record.at("scaling"))};
  if (const json& layout = record.at("layout"); !layout.is_null()) {
    settings.layout = layout == "half" ? RotaryLayout::half : RotaryLayout::interleaved;
  }
  return settings;
}

Json energy_record(const EnergyShares& shares) {
  return {{"known", shares.known}, {"configured", shares.configured}, {"described", shares.described}};
}

EnergyShares recorded_energy(const json& record) {
  return {numbers(record.at("known")), number(record.at("configured")), number(record.at("described")), {}};
}

}  // namespace

Json rotation_record(const std::optional<DumpRotation>& rotation) {
  if (!rotation) return nullptr;
  const RotationOrigin& origin = rotation->origin;
  return {{"source", static_cast<int>(rotation->source)},
          {"largest_position", rotation->largest_position},
          {"unknown_layers", rotation->unknown_layers},
          {"settings", origin.settings ? settings_record(*origin.settings) : Json()},
          {"layers_without", origin.layers_without},
          {"model_config", value_or_null(origin.model_config)}};
}

std::optional<DumpRotation> recorded_rotation(const json& record) {
  if (record.is_null()) return std::nullopt;
  RotationOrigin origin;
  if (const json& settings = record.at("settings"); !settings.is_null()) origin.settings = recorded_settings(settings);
  origin.layers_without = recorded_list<std::vector<int>>(record.at("layers_without"));
  origin.model_config = recorded_or_none<std::string>(record.at("model_config"));
  const auto source = static_cast<RotationSource>(recorded<int>(record.at("source")));
  if (source < RotationSource::config || source > RotationSource::inferred) {
    throw json::out_of_range::create(406, "no such source of a rotation", &record);
  }
  ModelRotation model = origin.model();
  return DumpRotation{std::move(model), record.at("largest_position").get<double>(), source,
                      recorded_list<std::set<int>>(record.at("unknown_layers")), std::move(origin)};
}

Json shares_record(const std::optional<RotationShares>& shares) {
  if (!shares) return nullptr;
  Json layers = Json::array();
  for (const LayerShares& layer : shares->layers) {
    layers.push_back({{"layer", layer.layer}, {"shares", energy_record(layer.shares)}});
  }
  return {{"width", shares->width}, {"dump", energy_record(shares->dump)}, {"layers", std::move(layers)}};
}

std::optional<RotationShares> recorded_shares(const json& record) {
  if (record.is_null()) return std::nullopt;
  RotationShares shares;
  shares.width = recorded<std::size_t>(record.at("width"));
  shares.dump = recorded_energy(record.at("dump"));
  for (const json& layer : record.at("layers")) {
    shares.layers.push_back({recorded<int>(layer.at("layer")), recorded_energy(layer.at("shares"))});
  }
  return shares;
}

}  // namespace attention_plasticity

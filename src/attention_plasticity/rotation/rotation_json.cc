#include "attention_plasticity/rotation/rotation_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "attention_plasticity/base/head_number.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

using nlohmann::json;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

constexpr std::string_view name_of(RotationSource source) {
  switch (source) {
    case RotationSource::config:
      return "config";
    case RotationSource::flags:
      return "flags";
    case RotationSource::inferred:
      return "inferred";
  }
  return "none";
}

constexpr std::string_view name_of(RotaryLayout layout) {
  return layout == RotaryLayout::half ? "half" : "interleaved";
}

Json candidate_json(const RotationCandidate& candidate, std::size_t width) {
  if (!candidate.shape) return {{"kind", "none"}};
  const auto [first, dim] = candidate.components(width);
  return {{"kind", "default"},
          {"theta", candidate.theta},
          {"layout", name_of(candidate.shape->layout)},
          {"first", first},
          {"dim", dim}};
}

Json settings_json(const RotarySettings& settings) {
  return {{"theta", value_or_null(settings.theta)},
          {"dim", value_or_null(settings.dim)},
          {"layout", settings.layout ? Json(name_of(*settings.layout)) : Json()},
          {"first", settings.first},
          {"scaling", value_or_null(settings.scaling)}};
}

Json origin_json(const DumpRotation& rotation) {
  const RotationOrigin& origin = rotation.origin;
  Json refined = nullptr;
  if (rotation.refined) {
    refined = Json::array();
    for (const RotationCandidate& candidate : *rotation.refined) {
      if (!candidate.shape) continue;
      const auto& shape = *candidate.shape;
      const auto [first, dim] = std::get<ComponentRange>(shape.components);
      refined.push_back(
          {{"theta", candidate.theta}, {"layout", name_of(shape.layout)}, {"first", first}, {"dim", dim}});
    }
  }
  return {{"settings", origin.settings ? settings_json(*origin.settings) : Json()},
          {"layers_without", origin.layers_without},
          {"model_config", value_or_null(origin.model_config)},
          {"largest_position", rotation.largest_position},
          {"unknown_layers", rotation.unknown_layers},
          {"refined", std::move(refined)}};
}

// Reads a record, and names its file in errors.
class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  DecidedRotation decided(const json& record) const {
    DecidedRotation read;
    const std::optional<RotationSource> source = source_of(record.at("source").get<std::string>());
    const json& origin = record.at("origin");
    if (source.has_value() == origin.is_null()) refuse("a source without an origin, or an origin without a source");
    if (source) read.rotation = rotation(origin, *source);
    read.shares = shares(record);
    return read;
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorKind::input, fmt::format("not the record of a rotation: {}", why), file_);
  }

 private:
  std::optional<RotationSource> source_of(const std::string& name) const {
    if (name == "none") return std::nullopt;
    for (const RotationSource source : {RotationSource::config, RotationSource::flags, RotationSource::inferred}) {
      if (name == name_of(source)) return source;
    }
    refuse("no such source");
  }

  RotaryLayout layout_of(const json& name) const {
    for (const RotaryLayout layout : {RotaryLayout::half, RotaryLayout::interleaved}) {
      if (name == name_of(layout)) return layout;
    }
    refuse("no such layout");
  }

  // JSON has no NaN: it is written as null.
  double number_or_nan(const json& value) const { return value.is_null() ? nan : number(value); }

  double number(const json& value) const {
    const auto read = recorded<double>(value);
    if (!std::isfinite(read)) refuse("a number is infinite");
    return read;
  }

  int layer(const json& value) const {
    const auto number = recorded<int>(value);
    if (number < 0 || number > most_head_number) refuse("no such layer");
    return number;
  }

  std::vector<int> layers(const json& list) const {
    std::vector<int> read;
    for (const json& value : list.get_ref<const json::array_t&>()) read.push_back(layer(value));
    return read;
  }

  RotarySettings settings(const json& record) const {
    RotarySettings read{.dim = recorded_or_none<std::size_t>(record.at("dim")),
                        .first = recorded<std::size_t>(record.at("first")),
                        .scaling = recorded_or_none<std::string>(record.at("scaling"))};
    if (const json& theta = record.at("theta"); !theta.is_null()) read.theta = number(theta);
    if (const json& layout = record.at("layout"); !layout.is_null()) read.layout = layout_of(layout);
    return read;
  }

  RotationCandidate candidate(const json& record) const {
    const ComponentRange components{recorded<std::size_t>(record.at("first")), recorded<std::size_t>(record.at("dim"))};
    const double theta = number(record.at("theta"));
    if (theta <= 0 || components.dim == 0 || components.dim % 2 != 0) refuse("a candidate that rotates nothing");
    return {RotationShape{layout_of(record.at("layout")), components}, theta};
  }

  DumpRotation rotation(const json& record, RotationSource source) const {
    RotationOrigin origin;
    if (const json& stated = record.at("settings"); !stated.is_null()) origin.settings = settings(stated);
    origin.layers_without = layers(record.at("layers_without"));
    origin.model_config = recorded_or_none<std::string>(record.at("model_config"));
    if (origin.settings && origin.model_config) refuse("two origins");
    const double largest = number(record.at("largest_position"));
    if (largest < 0) refuse("a negative position");
    const std::vector<int> unknown = layers(record.at("unknown_layers"));
    std::optional<std::vector<RotationCandidate>> refined;
    if (const json& list = record.at("refined"); !list.is_null()) {
      refined.emplace();
      for (const json& one : list.get_ref<const json::array_t&>()) refined->push_back(candidate(one));
    }
    ModelRotation model = origin.model();
    return {std::move(model), largest, source, {unknown.begin(), unknown.end()}, std::move(origin), std::move(refined)};
  }

  // The recorded candidates, as places among the common ones.
  std::vector<std::size_t> places(const json& list, std::size_t width) const {
    const std::span<const RotationCandidate> common = common_candidates();
    std::vector<std::size_t> found;
    std::size_t next = 0;
    for (const json& way : list.get_ref<const json::array_t&>()) {
      while (next < common.size() && way != json(candidate_json(common[next], width))) ++next;
      if (next == common.size()) refuse("unknown candidates");
      found.push_back(next++);
    }
    return found;
  }

  FixedEnergy energy(const json& record, const std::vector<std::size_t>& places) const {
    const auto& list = record.at("share").get_ref<const json::array_t&>();
    if (list.size() != places.size()) refuse("the lists of candidates and shares differ in length");
    FixedEnergy read{std::vector<double>(common_candidates().size(), nan), number_or_nan(record.at("configured")), {}};
    for (std::size_t i = 0; i < places.size(); ++i) read.common[places[i]] = number_or_nan(list[i]);
    return read;
  }

  std::optional<RotationShares> shares(const json& record) const {
    if (record.at("ways").is_null()) {
      for (const char* key : {"share", "configured", "layers", "width"}) {
        if (!record.at(key).is_null()) refuse("shares without candidates");
      }
      return std::nullopt;
    }
    RotationShares read;
    read.width = recorded<std::size_t>(record.at("width"));
    if (read.width == 0) refuse("vectors without components");
    const std::vector<std::size_t> places = this->places(record.at("ways"), read.width);
    read.dump = energy(record, places);
    for (const json& entry : record.at("layers").get_ref<const json::array_t&>()) {
      const int number = layer(entry.at("layer"));
      if (!read.layers.empty() && number <= read.layers.back().layer) refuse("the layers are not in order");
      read.layers.push_back({number, energy(entry, places)});
    }
    return read;
  }

  const std::string& file_;
};

}  // namespace

Json rotation_json(std::optional<RotationSource> source, const RotationShares* shares) {
  Json json{{"source", source ? name_of(*source) : "none"},
            {"ways", nullptr},
            {"share", nullptr},
            {"configured", nullptr},
            {"layers", nullptr}};
  if (shares == nullptr) return json;
  const std::span<const RotationCandidate> common = common_candidates();
  const auto fits = [&](std::size_t i) { return !std::isnan(shares->dump.common[i]); };
  const auto share = [&](const FixedEnergy& of) {
    Json list = Json::array();
    for (std::size_t i = 0; i < common.size(); ++i) {
      if (fits(i)) list.push_back(of.common[i]);
    }
    return list;
  };
  json["ways"] = Json::array();
  for (std::size_t i = 0; i < common.size(); ++i) {
    if (fits(i)) json["ways"].push_back(candidate_json(common[i], shares->width));
  }
  json["share"] = share(shares->dump);
  json["configured"] = shares->dump.configured;
  json["layers"] = Json::array();
  for (const LayerShares& layer : shares->layers) {
    json["layers"].push_back(
        {{"layer", layer.layer}, {"share", share(layer.shares)}, {"configured", layer.shares.configured}});
  }
  return json;
}

Json rotation_record(const DecidedRotation& decided) {
  const auto& [rotation, shares] = decided;
  Json json = rotation_json(rotation ? std::optional(rotation->source) : std::nullopt, shares ? &*shares : nullptr);
  json["width"] = shares ? Json(shares->width) : Json();
  json["origin"] = rotation ? origin_json(*rotation) : Json();
  return json;
}

DecidedRotation read_rotation_record(const nlohmann::json& record, const std::string& file) {
  const Reader reader(file);
  try {
    return reader.decided(record);
  } catch (const json::exception& error) {
    reader.refuse(error.what());
  } catch (const Error& error) {
    // A rotation that cannot be used was not used by the run that wrote the record.
    if (error.kind() == ErrorKind::input && error.file() == file) throw;
    reader.refuse(error.what());
  }
}

bool is_same_rotation(const nlohmann::json& one, const nlohmann::json& other) {
  if (one.at("source") != other.at("source")) return false;
  json origin = one.at("origin");
  json other_origin = other.at("origin");
  if (origin.is_null() || other_origin.is_null()) return origin == other_origin;
  // Before a run reads its files, its refined candidates are not determined.
  if (origin.at("refined").is_null() || other_origin.at("refined").is_null()) {
    origin.erase("refined");
    other_origin.erase("refined");
  }
  return origin == other_origin;
}

}  // namespace attention_plasticity

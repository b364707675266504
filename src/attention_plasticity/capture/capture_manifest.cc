#include "attention_plasticity/capture/capture_manifest.h"

#include <fmt/format.h>

#include <vector>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/capture/position_sampler.h"
#include "attention_plasticity/digest/digest.h"
#include "attention_plasticity/json/json.h"
#include "attention_plasticity/version.h"

namespace attention_plasticity {
namespace {

constexpr int manifest_schema = 1;

Json layers_json(const CapturedModel& model) {
  Json layers = Json::array();
  for (const CapturedLayer& layer : model.layers) {
    layers.push_back({layer.q_heads, layer.k_heads, layer.width, value_or_null(layer.window)});
  }
  return layers;
}

std::string setting_text(const nlohmann::json& manifest, const std::string& name) {
  const nlohmann::json* settings = find_field(manifest, "settings");
  const nlohmann::json* value = settings == nullptr ? nullptr : find_field(*settings, name);
  return value == nullptr ? "unset" : shown_text(value->is_string() ? value->get<std::string>() : value->dump());
}

nlohmann::json parsed(const std::string& manifest) { return parse_json_object(manifest, {.subject = "manifest"}); }

}  // namespace

std::string capture_manifest(const CaptureSettings& settings, const CapturedModel& model,
                             const std::string& texts_digest) {
  Json json;
  json["schema"] = manifest_schema;
  for (const TypedField<CaptureSettings>& field : capture_table()) {
    if (field.decides_figures) json["settings"][field.name] = value_or_null(field.get(settings));
  }
  json["model"] = model.name;
  json["config_sha256"] = sha256(model.config);
  if (!model.weights.empty()) json["weights"] = model.weights;
  json["layers"] = layers_json(model);
  json["source"] = model.source;
  json["texts"] = texts_digest;
  return json_text(json);
}

std::string capture_json(const std::string& manifest, const CaptureCounts& counts) {
  const ProgramVersion program = program_version();
  Json json;
  json["schema"] = 1;
  json["program"] = {{"version", program.version}, {"commit", program.commit}};
  json["documents"] = counts.documents;
  json["tokens"] = counts.tokens;
  json["manifest"] = parse_json_object<Json>(manifest, {.subject = "manifest"});
  return json_text(json, 1) + "\n";
}

std::optional<std::string> manifest_in(std::string_view capture_json) {
  try {
    const Json json = parse_json_object<Json>(capture_json, {.subject = "capture.json"});
    return json.contains("manifest") ? std::optional(json_text(json["manifest"])) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;  // another program's file of this name
  }
}

std::string manifest_differences(const std::string& there, const std::string& here) {
  const nlohmann::json a = parsed(there);
  const nlohmann::json b = parsed(here);
  std::vector<std::string> parts;
  for (const TypedField<CaptureSettings>& field : capture_table()) {
    if (!field.decides_figures) continue;
    const std::string before = setting_text(a, field.name);
    const std::string now = setting_text(b, field.name);
    if (before != now) parts.push_back(fmt::format("`{}` {} there and {} here", field.name, before, now));
  }
  const auto differs = [&](const char* key) { return a.value(key, Json()) != b.value(key, Json()); };
  if (differs("model") || differs("config_sha256") || differs("layers")) {
    parts.emplace_back("another model");
  } else if (differs("weights")) {
    parts.emplace_back("other weights of the model");
  }
  if (differs("texts") || differs("source")) parts.emplace_back("other texts");
  if (parts.empty()) parts.emplace_back("another version of the program");
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string capture_saver_state(const CaptureSettings& settings, const CapturedModel& model,
                                const CaptureCounts& counts) {
  Json metadata;
  metadata["attention_scope"] = "all_attention";
  metadata["sampling_strategy"] = sampling_strategy(settings.sampling);
  const bool is_log = settings.sampling == Sampling::log_uniform;
  metadata[is_log ? "sampling_min_bucket_size" : "sampling_bucket_size"] = effective_bucket_size(settings);
  if (settings.sampling != Sampling::all) metadata["sampling_rows_per_bucket"] = settings.rows_per_bucket;
  metadata["sampling_seed"] = settings.seed;
  metadata["source_dataset"] = model.source;
  Json buckets = Json::object();
  for (const auto& [bucket, rows] : counts.buckets) buckets[std::to_string(bucket)] = rows;
  return json_text({{"bucket_counts", buckets}, {"model_metadata", metadata}, {"model_name", model.name}}, 2) + "\n";
}

}  // namespace attention_plasticity

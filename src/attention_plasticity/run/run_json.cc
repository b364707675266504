#include "attention_plasticity/run/run_json.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <map>
#include <set>

#include "attention_plasticity/json/json.h"
#include "attention_plasticity/results/run_record.h"
#include "attention_plasticity/rotary/rotary_parameters.h"
#include "attention_plasticity/rotation/rotation_json.h"
#include "attention_plasticity/run/config_fields.h"
#include "attention_plasticity/run/cost_json.h"
#include "attention_plasticity/run/result_tables.h"
#include "attention_plasticity/run/summary.h"
#include "attention_plasticity/version.h"

namespace attention_plasticity {
namespace {

std::string utc(std::int64_t nanoseconds) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(std::chrono::nanoseconds(nanoseconds));
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(seconds.count())));
}

Json program_json(const PreparedRun& prepared) {
  const ProgramVersion program = program_version();
  return {{"version", program.version},
          {"commit", program.commit},
          {"compiler", program.compiler},
          {"simd", prepared.recorded_simd.value_or(program.simd)}};
}

// `read`: what was read of the file; null: nothing.
Json file_json(const RecordedFile& file, const InputDigest* read, bool is_from_hub) {
  Json json{{"file", file.file}, {"bytes", read != nullptr ? read->file_bytes : file.bytes}};
  if (is_from_hub) {
    json["etag"] = value_or_null(file.etag);
  } else {
    json["modified"] = file.modified_ns ? Json(utc(*file.modified_ns)) : Json(nullptr);
    if (read != nullptr && !read->etag.empty()) json["etag"] = read->etag;
  }
  json["xxh128"] = read != nullptr && !read->digest.empty() ? Json(read->digest) : Json(nullptr);
  return json;
}

Json input_json(const PreparedRun& prepared, const RunConfig& config, const RunResult& run) {
  std::map<std::string, const InputDigest*> read;
  for (const ReadInput& input : run.inputs) {
    const std::filesystem::path file = prepared.layout.file(input.side, input.head);
    read[file.lexically_relative(prepared.layout.folder).generic_string()] = &input.input;
  }
  Json heads = Json::array();
  for (const RecordedFile& file : recorded_files(prepared)) {
    const auto found = read.find(file.file);
    heads.push_back(file_json(file, found == read.end() ? nullptr : found->second, prepared.hub.has_value()));
  }
  const bool is_stored = prepared.layout.files().are_remote() || config.dataset_address;
  Json json{{"kind", prepared.hub ? "hub" : is_stored ? "store" : config.dataset_local_root ? "local" : "arrays"}};
  if (prepared.hub) {
    json["repo"] = prepared.hub->repo;
  } else {
    json["root"] = value_or_null(config.dataset_local_root);
  }
  json["folder"] = prepared.layout.folder.string();
  json["revision"] = prepared.hub ? Json(prepared.hub->revision) : Json(nullptr);
  json["commit"] = prepared.hub ? Json(prepared.hub->commit) : Json(nullptr);
  json["files"] = std::move(heads);
  return json;
}

Json rope_json(const std::optional<DumpRotation>& rotation, const HeadResult& result) {
  if (!rotation || !rotation->is_known_in(result.head.layer)) return nullptr;
  const LayerRotation layer = rotation->layer(result.head.layer, result.width);
  if (layer.kind == RotaryKind::none)
    return {{"kind", "none"}, {"theta", nullptr}, {"first", 0}, {"dim", 0}, {"layout", nullptr}};
  return {{"kind", rotary_kind_name(layer.kind)},
          {"theta", layer.theta},
          {"first", layer.rotation.first},
          {"dim", layer.rotation.dim()},
          {"layout", layer.rotation.layout == RotaryLayout::half ? "half" : "interleaved"}};
}

// Null where position-exact plasticity is off.
Json measured_rotation(const PreparedRun& prepared, const RunConfig& config, const RunResult& run) {
  if (config.analysis.num_triples == 0) return nullptr;
  std::optional<RotationSource> source;
  if (prepared.rotation) source = prepared.rotation->source;
  const auto& shares = run.rotation_shares ? run.rotation_shares : prepared.rotation_shares;
  return rotation_json(source, shares ? &*shares : nullptr);
}

// Layers of which no head was analysed are unknown, and left out.
Json layers_json(const PreparedRun& prepared, const RunResult& run) {
  Json layers = Json::array();
  std::set<int> seen;
  for (const HeadResult& result : run.results) {
    if (!seen.insert(result.head.layer).second) continue;
    layers.push_back({{"layer", result.head.layer},
                      {"attention", result.window ? "sliding" : "full"},
                      {"window", value_or_null(result.window)},
                      {"rope", rope_json(prepared.rotation, result)}});
  }
  return layers;
}

Json model_json(const PreparedRun& prepared, const RunResult& run) {
  return {{"name", prepared.model_name},
          {"num_layers", prepared.grid.num_layers},
          {"num_q_heads", prepared.grid.num_q_heads},
          {"num_k_heads", prepared.grid.num_k_heads},
          {"head_dim", run.results.empty() ? Json(nullptr) : Json(run.results.front().width)},
          {"layers", layers_json(prepared, run)}};
}

Json config_json(const RunConfig& config) {
  Json fields = Json::object();
  for (const FieldValue& field : resolved_fields(config)) {
    const std::string text = field.text.value_or("null");
    fields[field.name] = field.is_text() ? Json(text) : Json::parse(text);
  }
  return fields;
}

Json heads_json(const PreparedRun& prepared, const RunResult& run) {
  Json failed = Json::array();
  for (const HeadFailure& failure : run.failures) {
    failed.push_back({{"layer", failure.head.layer},
                      {"q_head", failure.head.q_head},
                      {"file", failure.file},
                      {"error", failure.message}});
  }
  return {{"done", run.results.size()}, {"skipped", prepared.skipped}, {"failed", std::move(failed)}};
}

Json model_summary_json(const ModelSummary& model) {
  return {{"heads", model.heads},
          {"mean", model.mean},
          {"se", model.error},
          {"share_below_0.25", model.share_below},
          {"share_above_0.75", model.share_above}};
}

Json summary_json(const RunResult& run, const RunParts& parts) {
  Json summary = Json::object();
  for (const ResultColumn& column : result_table(TableId::metrics).columns) {
    if (!is_headline(column.name) || !is_written(column, parts)) continue;
    const ModelSummary model = summarize_model(column.name, run.results, run.model_without_group.of(column.name));
    summary[std::string(column.name)] = model_summary_json(model);
  }
  return summary;
}

// So that runs of the same documents can be told, and compared pair by pair.
Json groups_json(const RunResult& run) {
  if (run.group_count == 0) return nullptr;
  return {{"count", run.group_count}, {"examples", run.examples.size()}, {"sha256", examples_digest(run.examples)}};
}

Json files_json(std::span<const WrittenFile> files) {
  Json json = Json::array();
  for (const WrittenFile& file : files) json.push_back(file.path);
  return json;
}

// With these, readers tell whether a table is of this run.
Json tables_json(std::span<const WrittenFile> files) {
  Json json = Json::array();
  for (const WrittenFile& file : files) {
    if (file.sha256) json.push_back({{"file", file.path}, {"sha256", *file.sha256}});
  }
  return json;
}

Json resources_json(const RunResources& resources) {
  Json json = cost_json(resources);
  if (resources.shards.empty()) return json;
  json["shards"] = Json::array();
  for (const ShardResources& shard : resources.shards) {
    Json entry{{"shard", shard.shard}, {"host", shard.host}};
    entry.update(cost_json(shard));
    json["shards"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace

std::string run_json(const PreparedRun& prepared, const RunConfig& config, const RunResult& run,
                     std::span<const WrittenFile> files, const RunResources& resources) {
  const Json json{{"schema", run_json_schema},
                  {"program", program_json(prepared)},
                  {"input", input_json(prepared, config, run)},
                  {"model", model_json(prepared, run)},
                  {"rotation", measured_rotation(prepared, config, run)},
                  {"sampling",
                   {{"strategy", value_or_null(prepared.sampling_strategy)},
                    {"bucket_size", value_or_null(prepared.sampling_bucket_size)}}},
                  {"config", config_json(config)},
                  {"heads", heads_json(prepared, run)},
                  {"summary", summary_json(run, run_parts(run.results, config))},
                  {"groups", groups_json(run)},
                  {"files", files_json(files)},
                  {"tables", tables_json(files)},
                  {"resources", resources_json(resources)}};
  return json_text(json, 2) + "\n";
}

}  // namespace attention_plasticity

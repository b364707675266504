#include "attention_plasticity/run/run_json.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <map>
#include <set>

#include "attention_plasticity/digest/digest.h"
#include "attention_plasticity/json/json.h"
#include "attention_plasticity/results/run_record.h"
#include "attention_plasticity/rotary/rotary_parameters.h"
#include "attention_plasticity/run/config_fields.h"
#include "attention_plasticity/run/result_tables.h"
#include "attention_plasticity/run/rotation_json.h"
#include "attention_plasticity/run/summary.h"
#include "attention_plasticity/version.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

std::string utc(fs::file_time_type time) {
  const auto system = std::chrono::file_clock::to_sys(time);
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(
                         std::chrono::time_point_cast<std::chrono::system_clock::duration>(system))));
}

Json program_json() {
  const ProgramVersion program = program_version();
  return {
      {"version", program.version}, {"commit", program.commit}, {"compiler", program.compiler}, {"simd", program.simd}};
}

// In the Hub's cache a file is a link to its content, which is named by its etag.
std::optional<std::string> etag_of(const fs::path& file) {
  std::error_code no_link;
  const fs::path content = fs::read_symlink(file, no_link);
  if (no_link) return std::nullopt;
  return content.filename().string();
}

// What is known of a file: of one that was read, from that reading.
struct InputFacts {
  std::optional<FileIdentity> identity;  // when the run was prepared
  std::optional<InputDigest> read;
};

using InputFiles = std::map<fs::path, InputFacts>;

InputFiles input_files(const PreparedRun& prepared, const RunResult& run) {
  InputFiles files;
  for (const HeadTask& task : prepared.tasks) {
    files[task.query_file].identity = task.query_identity;
    files[task.key_file].identity = task.key_identity;
  }
  for (const ReadInput& input : run.inputs) files[prepared.layout.file(input.side, input.head)].read = input.input;
  return files;
}

// None for a file that does not exist.
std::optional<std::uint64_t> bytes_of(const fs::path& file, const InputFacts& facts) {
  if (facts.read) return facts.read->file_bytes;
  std::error_code missing;
  const std::uintmax_t bytes = fs::file_size(file, missing);
  return missing ? std::nullopt : std::optional<std::uint64_t>(bytes);
}

Json modified_json(const fs::path& file, const InputFacts& facts) {
  if (facts.identity) {
    const std::chrono::sys_time<std::chrono::nanoseconds> time{std::chrono::nanoseconds(facts.identity->modified)};
    return utc(std::chrono::file_clock::from_sys(time));
  }
  std::error_code unknown;
  const fs::file_time_type time = fs::last_write_time(file, unknown);
  return unknown ? Json(nullptr) : Json(utc(time));
}

Json file_json(const fs::path& file, const InputFacts& facts, const PreparedRun& prepared, std::uint64_t bytes) {
  Json json{{"file", file.lexically_relative(prepared.layout.folder).generic_string()}, {"bytes", bytes}};
  if (prepared.hub) {
    json["etag"] = value_or_null(etag_of(file));
  } else {
    json["modified"] = modified_json(file, facts);
  }
  json["xxh128"] = facts.read && !facts.read->digest.empty() ? Json(facts.read->digest) : Json(nullptr);
  return json;
}

Json input_json(const PreparedRun& prepared, const RunConfig& config, const RunResult& run) {
  Json heads = Json::array();
  for (const auto& [file, facts] : input_files(prepared, run)) {
    if (const auto bytes = bytes_of(file, facts)) heads.push_back(file_json(file, facts, prepared, *bytes));
  }
  Json json{{"kind", prepared.hub ? "hub" : "local"}};
  if (prepared.hub) {
    json["repo"] = prepared.hub->repo;
  } else {
    json["root"] = value_or_null(config.dataset_local_root);
  }
  json["folder"] = prepared.layout.folder.generic_string();
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
Json rotation_json(const PreparedRun& prepared, const RunConfig& config, const RunResult& run) {
  if (config.analysis.num_triples == 0) return nullptr;
  std::optional<RotationSource> source;
  if (prepared.rotation) source = prepared.rotation->source;
  const auto& shares = run.rotation_shares ? run.rotation_shares : prepared.rotation_shares;
  return Json::parse(rotation_json_text(source, shares ? &*shares : nullptr));
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
  const WithoutGroup& model = run.model_without_group;
  const std::size_t count = std::max(model.overall.size(), model.exact.size());
  if (count == 0) return nullptr;
  std::string ids;
  for (const std::uint64_t id : run.examples) ids += fmt::format("{}\n", id);
  return {{"count", count}, {"examples", run.examples.size()}, {"sha256", sha256(ids)}};
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

}  // namespace

std::string run_json(const PreparedRun& prepared, const RunConfig& config, const RunResult& run,
                     std::span<const WrittenFile> files, const RunResources& resources) {
  const Json json{{"schema", run_json_schema},
                  {"program", program_json()},
                  {"input", input_json(prepared, config, run)},
                  {"model", model_json(prepared, run)},
                  {"rotation", rotation_json(prepared, config, run)},
                  {"sampling",
                   {{"strategy", value_or_null(prepared.sampling_strategy)},
                    {"bucket_size", value_or_null(prepared.sampling_bucket_size)}}},
                  {"config", config_json(config)},
                  {"heads", heads_json(prepared, run)},
                  {"summary", summary_json(run, run_parts(run.results, config))},
                  {"groups", groups_json(run)},
                  {"files", files_json(files)},
                  {"tables", tables_json(files)},
                  {"resources",
                   {{"workers", resources.workers},
                    {"wall_s", resources.wall_s},
                    {"cpu_s", resources.cpu_s},
                    {"peak_rss_bytes", resources.peak_rss_bytes}}}};
  return json_text(json, 2) + "\n";
}

}  // namespace attention_plasticity

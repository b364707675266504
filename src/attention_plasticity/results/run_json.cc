#include "attention_plasticity/results/run_json.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <fstream>
#include <limits>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/digest/digest.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/json/json.h"
#include "attention_plasticity/results/cost_json.h"
#include "attention_plasticity/results/schema.h"

namespace attention_plasticity {
namespace {

using nlohmann::json;

std::string utc(std::int64_t nanoseconds) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(std::chrono::nanoseconds(nanoseconds));
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(seconds.count())));
}

Json file_json(const RunJson::InputFile& file, bool is_from_hub) {
  Json object{{"file", file.name}, {"bytes", file.bytes}};
  if (!is_from_hub) object["modified"] = file.modified_ns ? Json(utc(*file.modified_ns)) : Json(nullptr);
  if (is_from_hub || file.etag) object["etag"] = value_or_null(file.etag);
  object["xxh128"] = file.xxh128.empty() ? Json(nullptr) : Json(file.xxh128);
  return object;
}

Json input_json(const RunJson::Input& input) {
  Json object{{"kind", input.kind}};
  if (input.repo) {
    object["repo"] = *input.repo;
  } else {
    object["root"] = value_or_null(input.root);
  }
  object["folder"] = input.folder;
  object["revision"] = value_or_null(input.revision);
  object["commit"] = value_or_null(input.commit);
  object["files"] = Json::array();
  for (const RunJson::InputFile& file : input.files) object["files"].push_back(file_json(file, input.repo.has_value()));
  return object;
}

Json layer_json(const RunJson::Layer& layer) {
  Json rope = nullptr;
  if (layer.rope) {
    rope = {{"kind", layer.rope->kind},
            {"theta", value_or_null(layer.rope->theta)},
            {"first", layer.rope->first},
            {"dim", layer.rope->dim},
            {"layout", value_or_null(layer.rope->layout)}};
  }
  return {{"layer", layer.layer},
          {"attention", layer.window ? "sliding" : "full"},
          {"window", value_or_null(layer.window)},
          {"rope", std::move(rope)}};
}

Json model_json(const RunJson::Model& model) {
  Json layers = Json::array();
  for (const RunJson::Layer& layer : model.layers) layers.push_back(layer_json(layer));
  return {{"name", model.name},
          {"num_layers", model.num_layers},
          {"num_q_heads", model.num_q_heads},
          {"num_k_heads", model.num_k_heads},
          {"head_dim", value_or_null(model.head_dim)},
          {"layers", std::move(layers)}};
}

Json config_json(std::span<const RunJson::Field> fields) {
  Json object = Json::object();
  for (const RunJson::Field& field : fields) {
    object[field.name] = field.is_text ? Json(field.text) : Json::parse(field.text);
  }
  return object;
}

Json heads_json(const RunJson& run) {
  Json failed = Json::array();
  for (const HeadFailure& failure : run.failures) {
    failed.push_back({{"layer", failure.head.layer},
                      {"q_head", failure.head.q_head},
                      {"file", failure.file},
                      {"error", failure.message}});
  }
  return {{"done", run.heads_done}, {"skipped", run.heads_skipped}, {"failed", std::move(failed)}};
}

Json summary_json(std::span<const ModelSummary> models) {
  Json summary = Json::object();
  for (const ModelSummary& model : models) {
    summary[std::string(model.measure)] = {{"heads", model.heads},
                                           {"mean", model.mean},
                                           {"se", model.error},
                                           {"share_below_0.25", model.share_below},
                                           {"share_above_0.75", model.share_above}};
  }
  return summary;
}

Json groups_json(const std::optional<RunJson::Groups>& groups) {
  if (!groups) return nullptr;
  return {{"count", groups->count}, {"examples", groups->examples}, {"sha256", groups->sha256}};
}

Json files_json(std::span<const WrittenFile> files) {
  Json object = Json::array();
  for (const WrittenFile& file : files) object.push_back(file.path);
  return object;
}

// Readers check each table of the run by its digest.
Json tables_json(std::span<const WrittenFile> files) {
  Json object = Json::array();
  for (const WrittenFile& file : files) {
    if (file.sha256) object.push_back({{"file", file.path}, {"sha256", *file.sha256}});
  }
  return object;
}

Json resources_json(const RunResources& resources) {
  Json object = cost_json(resources);
  if (resources.shards.empty()) return object;
  object["shards"] = Json::array();
  for (const ShardResources& shard : resources.shards) {
    Json entry{{"shard", shard.shard}, {"host", shard.host}};
    entry.update(cost_json(shard));
    object["shards"].push_back(std::move(entry));
  }
  return object;
}

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

std::optional<std::string> text_in(const json* object, std::string_view key) {
  const json* field = object == nullptr ? nullptr : find_field(*object, key);
  return field != nullptr && field->is_string() ? std::optional(field->get<std::string>()) : std::nullopt;
}

[[noreturn]] void refuse(std::string_view problem, const std::string& file) {
  throw Error(ErrorKind::input, fmt::format("{}; move it away to use the tables alone", problem), file);
}

int schema_of(const json& run, const std::string& file) {
  const json* field = find_field(run, "schema");
  const auto schema = field == nullptr ? std::nullopt : whole_number(*field, 1, std::numeric_limits<int>::max());
  if (!schema) refuse("has no schema, so it is not the run.json of a run", file);
  if (*schema > run_json_schema) {
    refuse(fmt::format("is of schema {}, and this program reads schemas 1 to {}", *schema, run_json_schema), file);
  }
  return static_cast<int>(*schema);
}

bool is_sha256(std::string_view text) {
  constexpr std::size_t digits = 64;
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::vector<RecordedTable> tables_of(const json& run, const std::string& file) {
  const json* tables = find_field(run, "tables");
  if (tables == nullptr || !tables->is_array()) refuse("names no tables, so it is not the run.json of a run", file);
  std::vector<RecordedTable> recorded;
  recorded.reserve(tables->size());
  for (const json& table : *tables) {
    const auto path = text_in(&table, "file");
    auto sha256 = text_in(&table, "sha256");
    if (!path || !sha256) refuse("has a table without file or sha256", file);
    if (!is_sha256(*sha256)) {
      refuse(fmt::format("has the SHA-256 {} for a table, which is not 64 hexadecimal digits", quoted_text(*sha256)),
             file);
    }
    recorded.push_back({file_name(*path), std::move(sha256)});
  }
  return recorded;
}

std::vector<RecordedTable> files_of(const json& run, const std::string& file) {
  const json* files = find_field(run, "files");
  if (files == nullptr || !files->is_array()) refuse("names no files, so it is not the run.json of a run", file);
  std::vector<RecordedTable> recorded;
  recorded.reserve(files->size());
  for (const json& path : *files) {
    if (path.is_string()) recorded.push_back({file_name(path.get<std::string>()), std::nullopt});
  }
  return recorded;
}

std::map<std::string, double> means_of(const json& run) {
  std::map<std::string, double> means;
  const json* summary = find_field(run, "summary");
  if (summary == nullptr || !summary->is_object()) return means;
  for (const auto& [measure, figures] : summary->items()) {
    const json* mean = find_field(figures, "mean");
    const bool is_known = mean != nullptr && mean->is_number();
    means[measure] = is_known ? mean->get<double>() : std::numeric_limits<double>::quiet_NaN();
  }
  return means;
}

constexpr std::int64_t most_heads = 10'000;
constexpr std::int64_t longest_window = 9'007'199'254'740'992;  // 2^53: what a JSON number holds exactly

const nlohmann::json& member(const nlohmann::json& object, const char* key, nlohmann::json::value_t type,
                             const std::string& file) {
  const auto found = object.find(key);
  if (found != object.end() && found->type() == type) return *found;
  throw Error(ErrorKind::input,
              fmt::format("has no {}, so it is not the run.json of a run; move it away to use the metrics alone", key),
              file);
}

std::map<int, std::int64_t> sliding_windows(const nlohmann::json& layers, int num_layers, const std::string& file) {
  std::map<int, std::int64_t> windows;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string place = fmt::format("model.layers[{}].", i);
    if (!layers[i].is_object()) {
      throw Error(ErrorKind::input, fmt::format("model.layers[{}] should be an object", i), file);
    }
    const auto attention = layers[i].find("attention");
    if (attention == layers[i].end() || (*attention != "full" && *attention != "sliding")) {
      throw Error(ErrorKind::input, place + "attention should be full or sliding", file);
    }
    const auto layer = static_cast<int>(whole_number_field(layers[i], "layer", 0, num_layers - 1, place, file));
    if (*attention == "sliding")
      windows[layer] = whole_number_field(layers[i], "window", 1, longest_window, place, file);
  }
  return windows;
}

// None when run.json does not state the sampling, or states it as older runs do.
std::optional<BucketSampling> bucket_sampling(const nlohmann::json& object) {
  const auto sampling = object.find("sampling");
  if (sampling == object.end() || !sampling->is_object()) return std::nullopt;
  const auto strategy = sampling->find("strategy");
  if (strategy == sampling->end() || !strategy->is_string()) return std::nullopt;
  BucketSampling known{*strategy == "log", std::nullopt};
  const auto size = sampling->find("bucket_size");
  if (size != sampling->end() && size->is_number() && size->get<double>() > 0) known.bucket_size = size->get<double>();
  return known;
}

}  // namespace

std::string run_json_text(const RunJson& run, std::span<const WrittenFile> files) {
  const ProgramVersion& program = run.program;
  const Json object{
      {"schema", run_json_schema},
      {"program",
       {{"version", program.version},
        {"commit", program.commit},
        {"compiler", program.compiler},
        {"simd", program.simd}}},
      {"input", input_json(run.input)},
      {"model", model_json(run.model)},
      {"rotation", Json::parse(run.rotation)},
      {"sampling",
       {{"strategy", value_or_null(run.sampling_strategy)}, {"bucket_size", value_or_null(run.sampling_bucket_size)}}},
      {"config", config_json(run.config)},
      {"heads", heads_json(run)},
      {"summary", summary_json(run.summary)},
      {"groups", groups_json(run.groups)},
      {"files", files_json(files)},
      {"tables", tables_json(files)},
      {"resources", resources_json(run.resources)}};
  return json_text(object, 2) + "\n";
}

const RecordedTable* RunRecord::find(std::string_view name) const {
  const auto found = std::ranges::find(tables, name, &RecordedTable::name);
  return found == tables.end() ? nullptr : &*found;
}

RunRecord parse_run_record(std::string_view text, const std::string& file) {
  const json run = parse_json_object(text, {.file = file, .unique_keys = true});
  RunRecord record;
  record.schema = schema_of(run, file);
  record.tables = record.schema == 1 ? files_of(run, file) : tables_of(run, file);
  const json* input = find_field(run, "input");
  record.input = {text_in(input, "root"), text_in(input, "repo"), text_in(input, "revision"), text_in(input, "folder")};
  record.model = text_in(find_field(run, "model"), "name");
  for (const ResultTable& table : result_tables()) {
    const auto path = text_in(find_field(run, "config"), table.field);
    if (path && !file_name(*path).empty()) record.names[std::string(table.field)] = file_name(*path);
  }
  const json* heads = find_field(run, "heads");
  const json* done = heads == nullptr ? nullptr : find_field(*heads, "done");
  if (const auto count = done == nullptr ? std::nullopt : whole_number(*done, 0, std::numeric_limits<int>::max())) {
    record.heads_done = static_cast<std::size_t>(*count);
  }
  record.means = means_of(run);
  return record;
}

std::string file_sha256(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  Digest digest(DigestKind::sha256);
  std::array<char, 1 << 16> block{};
  while (stream) {
    stream.read(block.data(), block.size());
    digest.add({block.data(), static_cast<std::size_t>(stream.gcount())});
  }
  if (!stream.eof()) throw Error(ErrorKind::input, "cannot be read; check its permissions", file.string());
  return digest.finish();
}

RunDescription parse_run_description(std::string_view text, const std::string& file) {
  const nlohmann::json object = parse_json_object(text, {.file = file, .unique_keys = true});
  const nlohmann::json& model = member(object, "model", nlohmann::json::value_t::object, file);
  const auto count = [&](const char* key) {
    return static_cast<int>(whole_number_field(model, key, 1, most_heads, "model.", file));
  };
  RunDescription run;
  const auto name = model.find("name");
  if (name != model.end() && name->is_string() && !name->get<std::string>().empty()) run.model = *name;
  run.num_layers = count("num_layers");
  run.num_q_heads = count("num_q_heads");
  run.num_k_heads = count("num_k_heads");
  if (run.num_q_heads % run.num_k_heads != 0) {
    throw Error(ErrorKind::input,
                fmt::format("model.num_q_heads should be a multiple of model.num_k_heads: {} is not a multiple of {}",
                            run.num_q_heads, run.num_k_heads),
                file);
  }
  run.windows = sliding_windows(member(model, "layers", nlohmann::json::value_t::array, file), run.num_layers, file);
  run.sampling = bucket_sampling(object);
  return run;
}

}  // namespace attention_plasticity

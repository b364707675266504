#include "attention_plasticity/run/results.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/json/json.h"
#include "attention_plasticity/options/config_fields.h"
#include "attention_plasticity/results/output_files.h"
#include "attention_plasticity/rotary/rotary_parameters.h"
#include "attention_plasticity/rotation/rotation_json.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

RunInput input_of(const PreparedRun& prepared, const RunConfig& config) {
  RunInput input;
  if (prepared.hub) {
    input.repo = prepared.hub->repo;
    input.revision = prepared.hub->revision;
  } else {
    input.root = config.dataset_local_root;
  }
  return input;
}

RunJson::Input recorded_input(const PreparedRun& prepared, const RunConfig& config, const RunResult& run) {
  std::map<std::string, const InputDigest*> read;
  for (const ReadInput& input : run.inputs) {
    const fs::path file = prepared.layout.file(input.side, input.head);
    read[file.lexically_relative(prepared.layout.folder).generic_string()] = &input.input;
  }
  const bool is_stored = prepared.layout.files().are_remote() || config.dataset_address;
  RunJson::Input input;
  input.kind = prepared.hub ? "hub" : is_stored ? "store" : config.dataset_local_root ? "local" : "arrays";
  input.root = config.dataset_local_root;
  input.folder = prepared.layout.folder.string();
  if (prepared.hub) {
    input.repo = prepared.hub->repo;
    input.revision = prepared.hub->revision;
    input.commit = prepared.hub->commit;
  }
  for (const RecordedFile& file : recorded_files(prepared)) {
    RunJson::InputFile& recorded = input.files.emplace_back();
    recorded = {.name = file.file, .bytes = file.bytes, .modified_ns = file.modified_ns};
    if (prepared.hub) recorded.etag = file.etag;
    const auto found = read.find(file.file);
    if (found == read.end()) continue;
    recorded.bytes = found->second->file_bytes;
    recorded.xxh128 = found->second->digest;
    if (!prepared.hub && !found->second->etag.empty()) recorded.etag = found->second->etag;
  }
  return input;
}

std::optional<RunJson::Rope> recorded_rope(const std::optional<DumpRotation>& rotation, const HeadResult& result) {
  if (!rotation || !rotation->is_known_in(result.head.layer)) return std::nullopt;
  const LayerRotation layer = rotation->layer(result.head.layer, result.width);
  if (layer.kind == RotaryKind::none) return RunJson::Rope{.kind = "none"};
  return RunJson::Rope{.kind = rotary_kind_name(layer.kind),
                       .theta = layer.theta,
                       .first = layer.rotation.first,
                       .dim = layer.rotation.dim(),
                       .layout = layer.rotation.layout == RotaryLayout::half ? "half" : "interleaved"};
}

// Layers of which no head was analysed are unknown, and left out.
RunJson::Model recorded_model(const PreparedRun& prepared, const RunResult& run) {
  RunJson::Model model{prepared.model_name, prepared.grid.num_layers, prepared.grid.num_q_heads,
                       prepared.grid.num_k_heads};
  if (!run.results.empty()) model.head_dim = run.results.front().width;
  std::set<int> seen;
  for (const HeadResult& result : run.results) {
    if (!seen.insert(result.head.layer).second) continue;
    model.layers.push_back({result.head.layer, result.window, recorded_rope(prepared.rotation, result)});
  }
  return model;
}

// Null where position-exact plasticity is off.
std::string recorded_rotation(const PreparedRun& prepared, const RunConfig& config, const RunResult& run) {
  if (config.analysis.num_triples == 0) return "null";
  std::optional<RotationSource> source;
  if (prepared.rotation) source = prepared.rotation->source;
  const auto& shares = run.rotation_shares ? run.rotation_shares : prepared.rotation_shares;
  return rotation_json(source, shares ? &*shares : nullptr).dump();
}

std::vector<RunJson::Field> recorded_config(const RunConfig& config) {
  std::vector<RunJson::Field> fields;
  for (const FieldValue& field : resolved_fields(config)) {
    fields.push_back({field.name, field.text.value_or("null"), field.is_text()});
  }
  return fields;
}

std::optional<RunJson::Groups> recorded_groups(const RunResult& run) {
  if (run.group_count == 0) return std::nullopt;
  return RunJson::Groups{run.group_count, run.examples.size(), examples_digest(run.examples)};
}

// The run.json of this run, as far as that is known before any head is measured: the layers of `earlier` are taken to
// have the windows and widths that it names.
json expected_json(const PreparedRun& prepared, const RunConfig& config, const json& earlier) {
  RunResult run;
  const json& model = earlier.at("model");
  for (const json& layer : model.at("layers")) {
    HeadResult head;
    head.head.layer = recorded<int>(layer.at("layer"));
    head.width = recorded<std::size_t>(model.at("head_dim"));
    if (!layer.at("window").is_null()) head.window = layer.at("window").get<double>();
    run.results.push_back(std::move(head));
  }
  return json::parse(run_json_text(run_contents(prepared, config, run, {}, {}).record, {}));
}

bool is_same_config(const json& earlier, const json& expected) {
  return std::ranges::all_of(config_fields(), [&](const Field& field) {
    return !field.decides_figures ||
           earlier.at("config").value(field.name, json()) == expected.at("config").at(field.name);
  });
}

// Compares what tells a file from another version of it; earlier runs record more of a file.
bool are_same_files(const json& earlier, const json& expected) {
  const json& before = earlier.at("input").at("files");
  const json& now = expected.at("input").at("files");
  return std::ranges::equal(before, now, [](const json& a, const json& b) {
    // The etag of a file in a store is known when it was read; until then, its time tells.
    const bool has_time = a.contains("modified");
    return std::ranges::all_of(std::array{"file", "bytes", "modified", "etag"}, [&](const std::string& key) {
      return (has_time && key == "etag") || a.value(key, json()) == b.value(key, json());
    });
  });
}

bool is_same_run(const json& earlier, const PreparedRun& prepared, const RunConfig& config) {
  const json& heads = earlier.at("heads");
  if (!heads.at("failed").empty() || heads.at("done") != prepared.tasks.size()) return false;
  const json expected = expected_json(prepared, config, earlier);
  return earlier.at("schema") == expected.at("schema") && earlier.at("program") == expected.at("program") &&
         earlier.at("model") == expected.at("model") &&
         earlier.at("input").at("commit") == expected.at("input").at("commit") && is_same_config(earlier, expected) &&
         are_same_files(earlier, expected);
}

}  // namespace

WrittenColumns written_columns(std::span<const HeadResult> results, const RunConfig& config) {
  return {.errors = config.analysis.standard_errors,
          .exact = std::ranges::any_of(results, [](const HeadResult& head) { return head.exact.has_value(); }),
          .python_compat = config.compat == Compat::python};
}

RunSummary summarize_run(const RunResult& run, const RunConfig& config) {
  return summarize_run(run.results, written_columns(run.results, config), run.model_without_group);
}

std::vector<std::string> result_paths(const PreparedRun& prepared, const RunConfig& config) {
  WrittenColumns run = written_columns({}, config);
  run.exact = prepared.rotation.has_value();
  std::vector<std::string> paths;
  for (const ResultTable& table : result_tables()) {
    if (is_written(table, run)) paths.push_back(config.tables[table.id]);
  }
  paths.push_back(run_json_path(config));
  return paths;
}

std::vector<FolderLock> lock_outputs(const PreparedRun& prepared, const RunConfig& config) {
  return lock_outputs(result_paths(prepared, config));
}

void check_earlier_results(const PreparedRun& prepared, const RunConfig& config) {
  if (config.overwrite) return;
  require_same_run(run_json_path(config), input_of(prepared, config), prepared.model_name);
}

void check_earlier_results(const PreparedRun& prepared, const RunConfig& config, const std::string& run_json,
                           const std::string& file) {
  if (config.overwrite) return;
  require_same_run(run_json, file, input_of(prepared, config), prepared.model_name);
}

void check_outputs(const PreparedRun& prepared, const RunConfig& config) {
  check_earlier_results(prepared, config);
  check_writable(result_paths(prepared, config));
}

RunContents run_contents(const PreparedRun& prepared, const RunConfig& config, const RunResult& run,
                         const RunSummary& summary, const RunResources& resources) {
  RunContents contents{run.results, run.without_group, summary.written, {}, run.interrupted};
  RunJson& record = contents.record;
  record.program = program_version();
  if (prepared.recorded_simd) record.program.simd = *prepared.recorded_simd;
  record.input = recorded_input(prepared, config, run);
  record.model = recorded_model(prepared, run);
  record.rotation = recorded_rotation(prepared, config, run);
  record.sampling_strategy = prepared.sampling_strategy;
  record.sampling_bucket_size = prepared.sampling_bucket_size;
  record.config = recorded_config(config);
  record.heads_done = run.results.size();
  record.heads_skipped = prepared.skipped;
  record.failures = run.failures;
  record.summary = summary.models;
  record.groups = recorded_groups(run);
  record.resources = resources;
  return contents;
}

std::vector<std::string> write_results(const PreparedRun& prepared, const RunConfig& config, const RunResult& run,
                                       const RunSummary& summary, const RunResources& resources) {
  return write_run_files(run_contents(prepared, config, run, summary, resources), config.tables, run_json_path(config));
}

bool are_results_complete(const PreparedRun& prepared, const RunConfig& config,
                          const std::function<bool(const std::string&, const std::string&)>& is_there) {
  const std::string file = run_json_path(config);
  std::error_code unknown;
  if (!fs::is_regular_file(file, unknown)) return false;
  try {
    const json earlier = parse_json_object(read_text_file(file, most_record_bytes), {.file = file});
    if (!is_same_run(earlier, prepared, config)) return false;
    return std::ranges::all_of(earlier.at("tables"), [&](const json& table) {
      const auto name = table.at("file").get<std::string>();
      const auto digest = table.at("sha256").get<std::string>();
      return is_there ? is_there(name, digest) : file_sha256(name) == digest;
    });
  } catch (const Error&) {
    return false;
  } catch (const json::exception&) {
    return false;
  }
}

}  // namespace attention_plasticity

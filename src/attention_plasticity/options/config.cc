#include "attention_plasticity/options/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <utility>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/options/config_fields.h"
#include "attention_plasticity/store/store_address.h"

namespace attention_plasticity {
namespace {

struct Requirement {
  std::string_view field;
  std::string_view value;
};

// What the released Python toolkit does, as values of our fields.
constexpr std::array python_requirements{
    Requirement{"method", "diagonal"},       Requirement{"sampler", "bucket"},
    Requirement{"weighting", "uniform"},     Requirement{"sliding_window_unit", "buckets"},
    Requirement{"standard_errors", "false"}, Requirement{"num_triples", "0"},
};

const Setting* find_setting(const SettingMap& given, std::string_view field) {
  const auto found = given.find(field);
  return found == given.end() ? nullptr : &found->second;
}

void apply_python_compat(RunConfig& config, const SettingMap& given) {
  const std::string& compat = given.at("compat").where;
  for (const Requirement& required : python_requirements) {
    const TypedField<RunConfig>& field = *find_field(config_table(), required.field);
    const Setting* setting = find_setting(given, required.field);
    if (setting == nullptr) {
      field.set(config, std::string(required.value));
    } else if (const std::string value = field.get(config).value_or("null"); value != required.value) {
      refuse(*setting, fmt::format("{} contradicts compat python ({}), which means {}", value, compat, required.value));
    }
  }
  for (const ResultTable& table : result_tables()) {
    if (table.in_python_compat) continue;
    if (const Setting* setting = find_setting(given, table.field)) {
      refuse(*setting, fmt::format("contradicts compat python ({}), which has no such file", compat));
    }
    config.tables[table.id].clear();
  }
}

void check_head_groups(const RunConfig& config, const SettingMap& given) {
  if (!config.num_q_heads || !config.num_k_heads || *config.num_q_heads % *config.num_k_heads == 0) return;
  refuse(given.at("num_q_heads"), fmt::format("{} is not a multiple of num_k_heads, {} ({})", *config.num_q_heads,
                                              *config.num_k_heads, given.at("num_k_heads").where));
}

// Empty when the selection fits a model with `size` layers or heads (`what`).
std::string selection_problem(const std::optional<std::vector<int>>& selection, int size, std::string_view what) {
  if (!selection || selection->empty() || selection->back() < size) return {};
  return fmt::format("{} is out of range; the model has {} {}, 0 to {}", selection->back(), size, what, size - 1);
}
std::string layers_problem(const RunConfig& config, int num_layers) {
  return selection_problem(config.layers, num_layers, "layers");
}
std::string q_heads_problem(const RunConfig& config, int num_q_heads) {
  return selection_problem(config.q_heads, num_q_heads, "query heads");
}

void check_explicit_selection(const RunConfig& config, const SettingMap& given) {
  if (config.num_layers) {
    if (const std::string problem = layers_problem(config, *config.num_layers); !problem.empty()) {
      refuse(given.at("layers"), problem);
    }
  }
  if (config.num_q_heads) {
    if (const std::string problem = q_heads_problem(config, *config.num_q_heads); !problem.empty()) {
      refuse(given.at("q_heads"), problem);
    }
  }
}

// A table without a path of its own goes beside `output_csv`, as run.json does.
void gather_outputs(RunConfig& config, const SettingMap& given) {
  const std::filesystem::path metrics = config.tables[TableId::metrics];
  for (const ResultTable& table : result_tables()) {
    std::string& file = config.tables[table.id];
    if (file.empty() || find_setting(given, table.field) != nullptr) continue;
    file = (metrics.parent_path() / file).string();
  }
}

void move_outputs(RunConfig& config) {
  if (!config.output_dir) return;
  const std::filesystem::path folder = *config.output_dir;
  for (const ResultTable& table : result_tables()) {
    std::string& file = config.tables[table.id];
    if (!file.empty()) file = (folder / file).string();
  }
}

struct Output {
  std::string_view field;
  std::string file;
};

// Defaults differ from each other, so at least one of the two was set. The message names its place.
void refuse_shared_output(const Output& first, const Output& second, const SettingMap& given) {
  constexpr std::string_view advice = "every output needs its own";
  const Setting* other = find_setting(given, first.field);
  if (const Setting* setting = find_setting(given, second.field)) {
    refuse(*setting, fmt::format("{} is the path of {}{} too; {}", shown_text(second.file), first.field,
                                 other != nullptr ? fmt::format(" ({})", other->where) : std::string(), advice));
  }
  if (other != nullptr) {
    refuse(*other, fmt::format("{} is the path of {} too; {}", shown_text(first.file), second.field, advice));
  }
}

void check_outputs_differ(const RunConfig& config, const SettingMap& given) {
  std::vector<Output> outputs{{"run.json", run_json_path(config)}};
  for (const ResultTable& table : result_tables()) outputs.push_back({table.field, config.tables[table.id]});
  std::map<std::filesystem::path, const Output*> taken;
  for (const Output& output : outputs) {
    if (output.file.empty()) continue;
    const auto [at, is_new] = taken.emplace(std::filesystem::path(output.file).lexically_normal(), &output);
    if (!is_new) refuse_shared_output(*at->second, output, given);
  }
}

// The text of a value as users write it: a list of indices has no brackets.
std::optional<std::string> typed_text(const FieldValue& field) {
  if (field.type != ValueType::indices || !field.text) return field.text;
  return field.text->substr(1, field.text->size() - 2);
}

bool is_output(std::string_view field) {
  return field == "output_dir" ||
         std::ranges::find(result_tables(), field, &ResultTable::field) != result_tables().end();
}

}  // namespace

RunConfig resolve_config(std::span<const Setting> settings) {
  const SettingMap given = last_settings(config_table(), settings);
  RunConfig config = with_settings(config_table(), given);
  if (config.dataset_local_root && is_store_address(*config.dataset_local_root)) {
    try {
      config.dataset_address = config.dataset_local_root;
      config.dataset_local_root = StoreAddress(*config.dataset_address).recorded();
    } catch (const Error& error) {
      refuse(given.at("dataset_local_root"), error.what());
    }
  }
  if (config.output_dir && is_store_address(*config.output_dir)) {
    refuse(given.at("output_dir"),
           "only the subcommand analyze writes to an object store; write to a folder on disk, and copy it");
  }
  if (config.compat == Compat::python) apply_python_compat(config, given);
  check_head_groups(config, given);
  check_explicit_selection(config, given);
  gather_outputs(config, given);
  move_outputs(config);
  check_outputs_differ(config, given);
  for (const auto& [field, setting] : given) config.places.emplace(field, setting.place());
  return config;
}

RunConfig resolve_config(const DumpSource& source, const RunOptions& options,
                         const std::optional<std::string>& output_dir) {
  RunConfig wanted;
  static_cast<RunOptions&>(wanted) = options;
  wanted.output_dir = output_dir;
  if (const auto* folder = std::get_if<DumpFolder>(&source)) {
    wanted.dataset_local_root = folder->root.string();
    wanted.model_dir = folder->model_dir;
  } else {
    const auto& dataset = std::get<HubDataset>(source);
    wanted.dataset_name = dataset.name;
    wanted.dataset_revision = dataset.revision;
    wanted.model_dir = dataset.model_dir;
    wanted.download_max_workers = dataset.download_max_workers;
    wanted.verify_cache = dataset.verify_cache;
  }
  std::vector<Setting> settings;
  for (const FieldValue& field : resolved_fields(wanted)) {
    const bool is_required =
        std::ranges::find(python_requirements, field.name, &Requirement::field) != python_requirements.end();
    if (wanted.compat == Compat::python && is_required) continue;
    if (is_output(field.name)) continue;
    settings.push_back({field.name, typed_text(field), ""});
  }
  if (output_dir) settings.push_back({"output_dir", output_dir, ""});
  return resolve_config(settings);
}

RunConfig with_output_dir(RunConfig config, const std::string& folder) {
  config.output_dir = folder;
  config.tables = TablePaths();
  for (const ResultTable& table : result_tables()) {
    if (config.compat == Compat::python && !table.in_python_compat) config.tables[table.id].clear();
  }
  move_outputs(config);
  return config;
}

std::vector<Setting> all_settings(const RunConfig& config) {
  std::vector<Setting> settings;
  for (const FieldValue& field : resolved_fields(config)) settings.push_back({field.name, typed_text(field), ""});
  return settings;
}

void check_selection(const RunConfig& config, int num_layers, int num_q_heads) {
  if (const std::string problem = layers_problem(config, num_layers); !problem.empty()) {
    throw Error(ErrorKind::usage, "`layers`: " + problem);
  }
  if (const std::string problem = q_heads_problem(config, num_q_heads); !problem.empty()) {
    throw Error(ErrorKind::usage, "`q_heads`: " + problem);
  }
}

std::string run_json_path(const RunConfig& config) {
  return std::filesystem::path(config.tables[TableId::metrics]).replace_filename("run.json").string();
}

}  // namespace attention_plasticity

#include "attention_plasticity/run/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <utility>

#include "attention_plasticity/base/error.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/run/config_table.h"
#include "attention_plasticity/run/config_value.h"

namespace attention_plasticity {
namespace {

// A setting that counts, of a known field and with a value.
struct Given {
  std::string value;
  std::string where;
  std::string place;  // where, with the field named
};

// The last setting of each field; none of a field that it unsets.
using GivenFields = std::map<std::string, Given, std::less<>>;

struct Requirement {
  std::string_view field;
  std::string_view value;
};

// What the released Python toolkit does, in the words of our fields.
constexpr std::array python_requirements{
    Requirement{"method", "diagonal"},       Requirement{"sampler", "bucket"},
    Requirement{"weighting", "uniform"},     Requirement{"sliding_window_unit", "buckets"},
    Requirement{"standard_errors", "false"}, Requirement{"num_triples", "0"},
};

bool is_flag(const Setting& setting) { return setting.where.starts_with("--"); }

[[noreturn]] void refuse(std::string_view place, std::string_view problem) {
  throw Error(ErrorKind::usage, fmt::format("{}: {}", place, problem));
}

const Given* find_given(const GivenFields& given, std::string_view field) {
  const auto found = given.find(field);
  return found == given.end() ? nullptr : &found->second;
}

void check_value(const FieldRule& rule, const Given& given) {
  try {
    RunConfig scratch;
    rule.set(scratch, given.value);
  } catch (const Error& error) {
    refuse(given.place, error.what());
  }
}

// Every setting is checked, those that a later one overrides too: a typo is a typo.
GivenFields last_settings(std::span<const Setting> settings) {
  GivenFields fields;
  for (const Setting& setting : settings) {
    const FieldRule* rule = find_field_rule(setting.field);
    if (rule == nullptr) {
      refuse(setting_place(setting), is_flag(setting)
                                         ? fmt::format("unknown flag{}", field_suggestion(setting.field, "--"))
                                         : fmt::format("unknown key{}", field_suggestion(setting.field, "")));
    }
    std::optional<std::string> value = setting.value;
    if (!value && rule->null_means) value = std::string(*rule->null_means);
    if (!value) {
      fields.erase(setting.field);
      continue;
    }
    Given given{std::move(*value), setting.where, setting_place(setting)};
    check_value(*rule, given);
    fields.insert_or_assign(setting.field, std::move(given));
  }
  return fields;
}

void apply_python_compat(RunConfig& config, const GivenFields& given) {
  const Given& compat = given.at("compat");
  for (const Requirement& required : python_requirements) {
    const FieldRule& rule = *find_field_rule(required.field);
    const Given* setting = find_given(given, required.field);
    if (setting == nullptr) {
      rule.set(config, std::string(required.value));
    } else if (const std::string value = rule.get(config).text; value != required.value) {
      refuse(setting->place,
             fmt::format("{} contradicts compat python ({}), which means {}", value, compat.where, required.value));
    }
  }
  for (const ResultTable& table : result_tables()) {
    if (table.in_python_compat) continue;
    if (const Given* setting = find_given(given, table.field)) {
      refuse(setting->place, fmt::format("contradicts compat python ({}), which has no such file", compat.where));
    }
    config.tables[table.id].clear();
  }
  config.analysis.constant_component_fits = true;
}

void check_head_groups(const RunConfig& config, const GivenFields& given) {
  if (!config.num_q_heads || !config.num_k_heads || *config.num_q_heads % *config.num_k_heads == 0) return;
  refuse(given.at("num_q_heads").place, fmt::format("{} is not a multiple of num_k_heads, {} ({})", *config.num_q_heads,
                                                    *config.num_k_heads, given.at("num_k_heads").where));
}

// Empty when the selection fits a model with `size` of what it selects.
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

void check_explicit_selection(const RunConfig& config, const GivenFields& given) {
  if (config.num_layers) {
    if (const std::string problem = layers_problem(config, *config.num_layers); !problem.empty()) {
      refuse(given.at("layers").place, problem);
    }
  }
  if (config.num_q_heads) {
    if (const std::string problem = q_heads_problem(config, *config.num_q_heads); !problem.empty()) {
      refuse(given.at("q_heads").place, problem);
    }
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

// Defaults differ from each other, so at least one of the two was given: the message stands at that one.
void refuse_shared_output(const Output& first, const Output& second, const GivenFields& given) {
  constexpr std::string_view advice = "every output needs its own";
  const Given* other = find_given(given, first.field);
  if (const Given* setting = find_given(given, second.field)) {
    refuse(setting->place, fmt::format("{} is the path of {}{} too; {}", shown_text(second.file), first.field,
                                       other != nullptr ? fmt::format(" ({})", other->where) : std::string(), advice));
  }
  if (other != nullptr) {
    refuse(other->place, fmt::format("{} is the path of {} too; {}", shown_text(first.file), second.field, advice));
  }
}

void check_outputs_differ(const RunConfig& config, const GivenFields& given) {
  std::vector<Output> outputs{{"run.json", run_json_path(config)}};
  for (const ResultTable& table : result_tables()) outputs.push_back({table.field, config.tables[table.id]});
  std::map<std::filesystem::path, const Output*> taken;
  for (const Output& output : outputs) {
    if (output.file.empty()) continue;
    const auto [at, is_new] = taken.emplace(std::filesystem::path(output.file).lexically_normal(), &output);
    if (!is_new) refuse_shared_output(*at->second, output, given);
  }
}

}  // namespace

std::string setting_place(const Setting& setting) {
  return is_flag(setting) ? setting.where : fmt::format("{}: {}", setting.where, shown_text(setting.field));
}

Setting flag_setting(std::string_view flag, std::string_view value) {
  std::string field(flag.starts_with("--") ? flag.substr(2) : flag);
  std::ranges::replace(field, '-', '_');
  if (find_field_rule(field) == nullptr) {
    throw Error(ErrorKind::usage, fmt::format("{}: unknown flag{}", shown_text(flag), field_suggestion(field, "--")));
  }
  Setting setting{std::move(field), std::nullopt, std::string(flag)};
  if (value != "null") setting.value = std::string(value);
  return setting;
}

RunConfig resolve_config(std::span<const Setting> settings) {
  const GivenFields given = last_settings(settings);
  RunConfig config;
  for (const auto& [field, setting] : given) find_field_rule(field)->set(config, setting.value);
  if (config.compat == Compat::python) apply_python_compat(config, given);
  check_head_groups(config, given);
  check_explicit_selection(config, given);
  move_outputs(config);
  check_outputs_differ(config, given);
  return config;
}

void check_selection(const RunConfig& config, int num_layers, int num_q_heads) {
  if (const std::string problem = layers_problem(config, num_layers); !problem.empty()) {
    throw Error(ErrorKind::usage, "layers: " + problem);
  }
  if (const std::string problem = q_heads_problem(config, num_q_heads); !problem.empty()) {
    throw Error(ErrorKind::usage, "q_heads: " + problem);
  }
}

std::string run_json_path(const RunConfig& config) {
  return std::filesystem::path(config.tables[TableId::metrics]).replace_filename("run.json").string();
}

}  // namespace attention_plasticity

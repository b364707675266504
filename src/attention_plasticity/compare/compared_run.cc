#include "attention_plasticity/compare/compared_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "attention_plasticity/error.h"
#include "attention_plasticity/json/json.h"
#include "attention_plasticity/results/csv.h"
#include "attention_plasticity/results/head_tables.h"
#include "attention_plasticity/results/result_files.h"
#include "attention_plasticity/results/schema.h"

namespace attention_plasticity {
namespace {

using nlohmann::json;

constexpr std::int64_t most = 9'007'199'254'740'992;  // 2^53: what a JSON number holds exactly

std::size_t whole_field(const json* object, std::string_view key) {
  const json* value = object == nullptr ? nullptr : find_field(*object, key);
  const auto number = value == nullptr ? std::nullopt : whole_number(*value, 0, most);
  return static_cast<std::size_t>(number.value_or(0));
}

std::optional<DocumentGroups> groups_in(const json& run) {
  const json* groups = find_field(run, "groups");
  const json* digest = groups == nullptr ? nullptr : find_field(*groups, "sha256");
  if (digest == nullptr || !digest->is_string()) return std::nullopt;
  return DocumentGroups{whole_field(groups, "count"), whole_field(groups, "examples"), digest->get<std::string>()};
}

// Fields that say how the numbers of a head are made. The others say which heads, from where, where to and how fast.
constexpr std::array<std::string_view, 24> deciding_fields{"non_finite",
                                                           "compat",
                                                           "method",
                                                           "sampler",
                                                           "weighting",
                                                           "sliding_window_unit",
                                                           "max_tokens_per_head",
                                                           "normality_max_dims",
                                                           "p_alpha",
                                                           "num_pairs_per_bucket",
                                                           "max_relative_distance",
                                                           "seed",
                                                           "standard_errors",
                                                           "rope",
                                                           "rope_config",
                                                           "rope_theta",
                                                           "rope_dim",
                                                           "rope_layout",
                                                           "rope_first",
                                                           "rope_scaling",
                                                           "vectors",
                                                           "num_triples",
                                                           "empirical_queries",
                                                           "max_vector_width"};

std::map<std::string, std::string> settings_in(const json& run) {
  std::map<std::string, std::string> settings;
  const json* config = find_field(run, "config");
  if (config == nullptr || !config->is_object()) return settings;
  for (const std::string_view field : deciding_fields) {
    const auto found = config->find(field);
    if (found != config->end()) settings[std::string(field)] = shown_json(*found);
  }
  return settings;
}

// The values without each group from head_groups.csv, by column and head.
std::map<std::string, GroupValues, std::less<>> group_values(const CsvTable& table, const HeadMetrics& metrics) {
  std::map<std::pair<int, int>, std::size_t> places;
  for (std::size_t i = 0; i < metrics.heads().size(); ++i) {
    places[{metrics.heads()[i].layer, metrics.heads()[i].q_head}] = i;
  }
  const std::size_t layer = column_place(table, TableId::groups, "layer");
  const std::size_t q_head = column_place(table, TableId::groups, "q_head");
  const std::size_t group = column_place(table, TableId::groups, "group");
  std::map<std::string, GroupValues, std::less<>> values;
  for (const std::string_view measure : headline_measures()) {
    const auto place = table.find(measure);
    if (!place) continue;
    GroupValues of_measure(metrics.heads().size());
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      const auto head = places.find({table.index(row, layer), table.index(row, q_head)});
      if (head == places.end()) continue;
      LeaveOneOut& of_head = of_measure[head->second];
      const auto number = static_cast<std::size_t>(table.index(row, group));
      if (!of_head.groups.empty() && of_head.groups.back() >= number) {
        throw Error(ErrorKind::input, fmt::format("line {}: the groups of a head should ascend", table.lines[row]),
                    table.file);
      }
      of_head.groups.push_back(number);
      of_head.values.push_back(table.number(row, *place));
    }
    values.emplace(measure, std::move(of_measure));
  }
  return values;
}

}  // namespace

const GroupValues* ComparedRun::groups_of(std::string_view column) const {
  const auto found = without_group.find(column);
  return found == without_group.end() ? nullptr : &found->second;
}

ComparedRun read_compared_run(const std::filesystem::path& folder, std::vector<std::string>& notes) {
  const ResultFiles files(folder, TableId::metrics, {TableId::metrics, TableId::groups});
  HeadMetrics metrics = read_head_metrics(files);
  std::optional<RunDescription> description = files.description();
  if (!description) {
    throw Error(ErrorKind::input, "holds no run.json, so it is not known what was measured", folder.string());
  }
  const json run = parse_json_object(files.run_text(), {.file = files.run() ? files.run()->string() : ""});
  for (const std::string& note : files.notes()) notes.push_back(note);
  for (const std::string& note : files.left_out()) notes.push_back(note);
  ComparedRun compared{folder.string(),
                       std::move(*description),
                       whole_field(find_field(run, "model"), "head_dim"),
                       groups_in(run),
                       settings_in(run),
                       std::move(metrics),
                       {}};
  if (files.find(TableId::groups)) {
    compared.without_group = group_values(files.read(TableId::groups), compared.metrics);
  }
  return compared;
}

}  // namespace attention_plasticity

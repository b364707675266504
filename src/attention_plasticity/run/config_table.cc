#include "attention_plasticity/run/config_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <type_traits>
#include <utility>

#include "attention_plasticity/base/error.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/run/config_value.h"

namespace attention_plasticity {
namespace {

using Kind = ResolvedField::Kind;

constexpr std::uint64_t max_count = std::numeric_limits<std::int32_t>::max();
constexpr std::uint64_t max_model_size = 10'000;
constexpr std::string_view all_indices = "all";

// The words of an enumeration, in the order of its values.
using Words = std::span<const std::string_view>;
constexpr std::array<std::string_view, 3> method_words{"positional", "full", "diagonal"};
constexpr std::array<std::string_view, 2> sampler_words{"bucket", "local"};
constexpr std::array<std::string_view, 3> weighting_words{"queries", "pairs", "uniform"};
constexpr std::array<std::string_view, 2> window_unit_words{"tokens", "buckets"};
constexpr std::array<std::string_view, 2> non_finite_words{"error", "drop"};
constexpr std::array<std::string_view, 2> compat_words{"none", "python"};
constexpr std::array<std::string_view, 2> rope_words{"auto", "none"};
constexpr std::array<std::string_view, 2> layout_words{"half", "interleaved"};
constexpr std::array<std::string_view, 2> vectors_words{"post", "pre"};

template <class T>
struct Unwrapped {
  using Type = T;
};
template <class T>
struct Unwrapped<std::optional<T>> {
  using Type = T;
};

// A member of RunConfig, or of the AnalysisOptions in it.
template <class Owner, class T>
T& member_of(RunConfig& config, T Owner::* member) {
  if constexpr (std::is_same_v<Owner, RunConfig>) {
    return config.*member;
  } else {
    return config.analysis.*member;
  }
}
template <class Owner, class T>
const T& member_of(const RunConfig& config, T Owner::* member) {
  if constexpr (std::is_same_v<Owner, RunConfig>) {
    return config.*member;
  } else {
    return config.analysis.*member;
  }
}

ResolvedField rendered(Kind kind, std::string text) { return {{}, kind, std::move(text)}; }
ResolvedField rendered(bool value) { return rendered(Kind::boolean, value ? "true" : "false"); }
ResolvedField rendered(const std::string& value) { return rendered(Kind::text, value); }
ResolvedField rendered(const std::vector<int>& value) {
  return rendered(Kind::list, fmt::format("[{}]", fmt::join(value, ", ")));
}
// Of a double, fmt writes the shortest digits that read back to it.
template <class T>
  requires std::is_arithmetic_v<T>
ResolvedField rendered(T value) {
  return rendered(Kind::number, fmt::format("{}", value));
}
template <class T>
ResolvedField rendered(const std::optional<T>& value) {
  return value ? rendered(*value) : rendered(Kind::null, "null");
}

// What a row of the table says whatever the type. `absent` names a default that is null or empty.
struct Row {
  std::string name;
  std::string absent;
  std::string help;
};

template <class Owner, class T>
FieldRule field(Row row, FieldType type, std::string type_text, T Owner::* member,
                std::function<T(const std::string&)> parse) {
  FieldRule rule{.name = std::move(row.name),
                 .type_text = std::move(type_text),
                 .default_text = std::move(row.absent),
                 .help = std::move(row.help),
                 .type = type,
                 .null_means = std::nullopt,
                 .set = {},
                 .get = {}};
  rule.set = [member, parse = std::move(parse)](RunConfig& config, const std::string& text) {
    member_of(config, member) = parse(text);
  };
  if constexpr (!std::is_enum_v<typename Unwrapped<T>::Type>) {
    rule.get = [member](const RunConfig& config) { return rendered(member_of(config, member)); };
    const ResolvedField value = rule.get(RunConfig{});
    if (value.kind != Kind::null && !value.text.empty()) rule.default_text = value.text;
  }
  return rule;
}

template <class Owner, class T>
FieldRule integer_field(Row row, T Owner::* member, std::uint64_t low, std::uint64_t high) {
  using Value = typename Unwrapped<T>::Type;
  return field<Owner, T>(std::move(row), FieldType::integer, "integer", member, [low, high](const std::string& text) {
    return static_cast<Value>(config_integer(text, low, high));
  });
}

template <class Owner, class T>
FieldRule count_field(Row row, T Owner::* member) {
  return integer_field(std::move(row), member, 1, max_count);
}

FieldRule token_limit_field(Row row) {
  FieldRule rule = field<AnalysisOptions, std::optional<std::size_t>>(
      std::move(row), FieldType::integer, "integer", &AnalysisOptions::max_tokens_per_head,
      [](const std::string& text) {
        const std::uint64_t limit = config_integer(text, 0, max_count);
        return limit == 0 ? std::nullopt : std::optional<std::size_t>(limit);
      });
  rule.null_means = "0";
  return rule;
}

FieldRule share_field(Row row, double AnalysisOptions::* member, bool one_included) {
  return field<AnalysisOptions, double>(
      std::move(row), FieldType::number, "number", member,
      [one_included](const std::string& text) { return config_share(text, one_included); });
}

FieldRule boolean_field(Row row, bool AnalysisOptions::* member) {
  return field<AnalysisOptions, bool>(std::move(row), FieldType::boolean, "boolean", member,
                                      [](const std::string& text) { return config_boolean(text); });
}

template <class T>
FieldRule text_field(Row row, T RunConfig::* member, bool may_be_empty = false) {
  return field<RunConfig, T>(std::move(row), FieldType::text, "text", member,
                             [may_be_empty](const std::string& text) { return config_plain_text(text, may_be_empty); });
}

// T is an enumeration, or an optional one.
template <class Owner, class T>
FieldRule word_field(Row row, T Owner::* member, Words words) {
  using Enum = typename Unwrapped<T>::Type;
  FieldRule rule =
      field<Owner, T>(std::move(row), FieldType::word, fmt::format("one of {}", fmt::join(words, "|")), member,
                      [words](const std::string& text) { return static_cast<Enum>(config_word(text, words)); });
  rule.get = [member, words](const RunConfig& config) {
    const std::optional<Enum> value = member_of(config, member);
    return value ? rendered(std::string(words[static_cast<std::size_t>(*value)])) : rendered(Kind::null, "null");
  };
  const ResolvedField value = rule.get(RunConfig{});
  if (value.kind != Kind::null) rule.default_text = value.text;
  return rule;
}

FieldRule indices_field(Row row, std::optional<std::vector<int>> RunConfig::* member) {
  return field<RunConfig, std::optional<std::vector<int>>>(
      std::move(row), FieldType::indices, "indices", member,
      [](const std::string& text) { return text == all_indices ? std::nullopt : std::optional(config_indices(text)); });
}

FieldRule size_field(Row row, std::optional<std::uint64_t> RunConfig::* member) {
  return field<RunConfig, std::optional<std::uint64_t>>(std::move(row), FieldType::size, "size", member,
                                                        [](const std::string& text) { return config_bytes(text); });
}

FieldRule theta_field(Row row) {
  return field<RunConfig, std::optional<double>>(std::move(row), FieldType::number, "number", &RunConfig::rope_theta,
                                                 [](const std::string& text) { return config_positive_number(text); });
}

FieldRule mapping_field(Row row, std::optional<std::string> RunConfig::* member) {
  FieldRule rule =
      field<RunConfig, std::optional<std::string>>(std::move(row), FieldType::mapping, "mapping", member,
                                                   [](const std::string& text) { return config_mapping(text); });
  rule.get = [member](const RunConfig& config) {
    const std::optional<std::string>& json = config.*member;
    return json ? rendered(Kind::mapping, *json) : rendered(Kind::null, "null");
  };
  return rule;
}

std::string output_file(const std::string& text) {
  std::string file = config_plain_text(text, false);
  const std::filesystem::path name = std::filesystem::path(file).filename();
  if (name.empty() || name == "." || name == "..") {
    throw Error(ErrorKind::usage, fmt::format("{} names a folder, not a file", shown_text(file)));
  }
  return file;
}

// The inverse of moving an output below output_dir: a path that does not lie there is absolute and stays.
std::string below_output_dir(const std::string& file, const std::optional<std::string>& output_dir) {
  if (!output_dir) return file;
  const std::string folder = (std::filesystem::path(*output_dir) / "").string();
  const bool below = file.starts_with(folder) && file.size() > folder.size() && file[folder.size()] != '/';
  return below ? file.substr(folder.size()) : file;
}

FieldRule output_field(Row row, TableId table) {
  FieldRule rule = field<RunConfig, std::string>(std::move(row), FieldType::text, "text", &RunConfig::model_dir, output_file);
  rule.default_text = result_table(table).file;
  rule.set = [table](RunConfig& config, const std::string& text) { config.tables[table] = output_file(text); };
  rule.get = [table](const RunConfig& config) {
    const std::string& file = config.tables[table];
    return file.empty() ? rendered(Kind::null, "null") : rendered(below_output_dir(file, config.output_dir));
  };
  return rule;
}

void append_dump_fields(std::vector<FieldRule>& rules) {
  rules.push_back(
      text_field({"model_dir", "empty", "Folder of the heads below the dump's root."}, &RunConfig::model_dir, true));
  rules.push_back(
      integer_field({"num_layers", "discovered", "Layers of the model."}, &RunConfig::num_layers, 1, max_model_size));
  rules.push_back(integer_field({"num_q_heads", "discovered", "Query heads of a layer."}, &RunConfig::num_q_heads, 1,
                                max_model_size));
  rules.push_back(integer_field({"num_k_heads", "discovered", "Key heads of a layer; they divide the query heads."},
                                &RunConfig::num_k_heads, 1, max_model_size));
  rules.push_back(indices_field({"layers", "all", "Layers to analyse, such as 0-3,7."}, &RunConfig::layers));
  rules.push_back(
      indices_field({"q_heads", "all", "Query heads to analyse in each layer, such as 0-3,7."}, &RunConfig::q_heads));
  rules.push_back(text_field({"dataset_name", "", "Dataset on the Hugging Face Hub."}, &RunConfig::dataset_name));
  rules.push_back(
      text_field({"dataset_revision", "", "Branch, tag or commit of that dataset."}, &RunConfig::dataset_revision));
  rules.push_back(text_field({"dataset_local_root", "none", "A dump on disk; nothing is downloaded."},
                             &RunConfig::dataset_local_root));
  rules.push_back(text_field({"dataset_cache_dir", "the Hub's own cache", "Folder that keeps downloaded files."},
                             &RunConfig::dataset_cache_dir));
  rules.push_back(
      count_field({"download_max_workers", "", "Files downloaded at a time."}, &RunConfig::download_max_workers));
  rules.push_back(word_field({"non_finite", "",
                              "What a NaN or an infinity in a vector does: fail the head, or drop "
                              "its row."},
                             &RunConfig::non_finite, non_finite_words));
}

void append_analysis_fields(std::vector<FieldRule>& rules) {
  rules.push_back(word_field({"compat", "", "The definitions and columns of the released Python toolkit."},
                             &RunConfig::compat, compat_words));
  rules.push_back(
      word_field({"method", "", "How the queries of a bucket are modelled."}, &AnalysisOptions::method, method_words));
  rules.push_back(
      word_field({"sampler", "", "How pairs of keys are drawn."}, &AnalysisOptions::sampler, sampler_words));
  rules.push_back(word_field({"weighting", "", "What a cell weighs in its head's mean."}, &AnalysisOptions::weighting,
                             weighting_words));
  rules.push_back(word_field({"sliding_window_unit", "", "What the dump's sliding_window column counts."},
                             &AnalysisOptions::sliding_window_unit, window_unit_words));
  rules.push_back(token_limit_field({"max_tokens_per_head", "", "Rows kept of a larger head file; null or 0: all."}));
  rules.push_back(integer_field({"normality_max_dims", "", "Components given a Kolmogorov-Smirnov test; 0: none."},
                                &AnalysisOptions::normality_max_dims, 0, max_count));
  rules.push_back(
      share_field({"p_alpha", "", "Level of that test, between 0 and 1."}, &AnalysisOptions::p_alpha, false));
  rules.push_back(count_field({"num_pairs_per_bucket", "", "Key pairs drawn for a pair of buckets."},
                              &AnalysisOptions::num_pairs_per_bucket));
  rules.push_back(share_field({"max_relative_distance", "",
                               "Reach of the local sampler as a share of the example's "
                               "length, at most 1."},
                              &AnalysisOptions::max_relative_distance, true));
  rules.push_back(integer_field({"seed", "", "Seed of every random draw."}, &AnalysisOptions::seed, 0,
                                std::numeric_limits<std::uint64_t>::max()));
  rules.push_back(boolean_field({"standard_errors", "", "Jackknife standard errors over examples."},
                                &AnalysisOptions::standard_errors));
}

void append_rotation_fields(std::vector<FieldRule>& rules) {
  rules.push_back(word_field({"rope", "",
                              "The rotation of position-exact plasticity: as the next five fields or a config.json in "
                              "the dump say, or none."},
                             &RunConfig::rope, rope_words));
  rules.push_back(
      text_field({"rope_config", "config.json in the dump", "The model's config.json."}, &RunConfig::rope_config));
  rules.push_back(theta_field({"rope_theta", "none",
                               "Base of the rotary frequencies; it takes precedence over any "
                               "config.json."}));
  rules.push_back(integer_field({"rope_dim", "the whole width", "Components that turn, an even number of the first."},
                                &RunConfig::rope_dim, 2, max_count));
  rules.push_back(
      word_field({"rope_layout", "half", "Which components turn together."}, &RunConfig::rope_layout, layout_words));
  rules.push_back(mapping_field({"rope_scaling", "none", "Scaled frequencies, as in a config.json; as a flag, JSON."},
                                &RunConfig::rope_scaling));
  rules.push_back(word_field({"vectors", "", "Whether vectors were captured after the rotation or before it."},
                             &AnalysisOptions::vectors, vectors_words));
  rules.push_back(integer_field({"num_triples", "", "Triples of position-exact plasticity; 0: it is left out."},
                                &AnalysisOptions::num_triples, 0, max_count));
  rules.push_back(integer_field({"empirical_queries", "", "Queries of its model-free check; 0: none."},
                                &AnalysisOptions::empirical_queries, 0, max_count));
}

void append_output_fields(std::vector<FieldRule>& rules) {
  rules.push_back(
      text_field({"output_dir", "none", "Folder for the outputs that have relative paths."}, &RunConfig::output_dir));
  for (const ResultTable& table : result_tables()) {
    rules.push_back(output_field({std::string(table.field), "", std::string(table.meaning)}, table.id));
  }
  rules.push_back(count_field({"max_workers", "null",
                               "Heads analysed at a time; null: one per core the process may "
                               "use."},
                              &RunConfig::max_workers));
  rules.push_back(size_field({"memory_limit", "null", "Bound on the heads in flight, such as 800MiB; null: none."},
                             &RunConfig::memory_limit));
}

}  // namespace

const std::vector<FieldRule>& field_rules() {
  static const std::vector<FieldRule> rules = [] {
    std::vector<FieldRule> all;
    append_dump_fields(all);
    append_analysis_fields(all);
    append_rotation_fields(all);
    append_output_fields(all);
    return all;
  }();
  return rules;
}

const FieldRule* find_field_rule(std::string_view name) {
  const std::vector<FieldRule>& rules = field_rules();
  const auto found = std::ranges::find(rules, name, &FieldRule::name);
  return found == rules.end() ? nullptr : &*found;
}

}  // namespace attention_plasticity

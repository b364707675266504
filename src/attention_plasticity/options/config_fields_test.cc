#include "attention_plasticity/options/config_fields.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "attention_plasticity/settings/field_page_testing.h"
#include "attention_plasticity/settings/yaml_settings.h"
#include "places.h"

namespace attention_plasticity {
namespace {

const Field& field_named(std::string_view name) {
  const Field* field = find_field(config_fields(), name);
  if (field == nullptr) throw std::runtime_error("no such field");
  return *field;
}

FieldValue resolved(const RunConfig& config, std::string_view name) {
  const auto values = resolved_fields(config);
  return values.at(static_cast<std::size_t>(&field_named(name) - config_fields().data()));
}

TEST(ConfigFields, HaveDistinctNamesTypesDefaultsAndHelp) {
  std::set<std::string_view> names;
  for (const Field& field : config_fields()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    EXPECT_FALSE(field.default_text.empty()) << field.name;
    EXPECT_TRUE(field.help.ends_with('.')) << field.name;
    EXPECT_EQ(field.value_name.empty(), field.is_boolean()) << field.name;
  }
  EXPECT_EQ(names.size(), 47U);
}

TEST(ConfigFields, SayTypeAndDefault) {
  EXPECT_EQ(field_named("method").type_text(), "one of positional|full|diagonal");
  EXPECT_EQ(field_named("method").default_text, "positional");
  EXPECT_EQ(field_named("compat").default_text, "none");
  EXPECT_EQ(field_named("num_layers").default_text, "discovered");
  EXPECT_EQ(field_named("layers").type_text(), "indices");
  EXPECT_EQ(field_named("layers").default_text, "all");
  EXPECT_EQ(field_named("max_tokens_per_head").default_text, "50000");
  EXPECT_EQ(field_named("p_alpha").default_text, "0.01");
  EXPECT_EQ(field_named("standard_errors").default_text, "true");
  EXPECT_EQ(field_named("time_csv").default_text, "head_time_plasticity.csv");
  EXPECT_EQ(field_named("memory_limit").type_text(), "size");
  EXPECT_EQ(field_named("rope").default_text, "auto");
  EXPECT_EQ(field_named("rope_layout").default_text, "half");
  EXPECT_EQ(field_named("rope_layout").type_text(), "one of half|interleaved");
  EXPECT_EQ(field_named("rope_scaling").type_text(), "mapping");
  EXPECT_EQ(field_named("num_triples").default_text, "4096");
}

TEST(ConfigFields, TakeTheirOwnDefaults) {
  for (const Field& field : config_fields()) {
    if (resolved({}, field.name).text.value_or("").empty()) continue;
    const Setting setting{std::string(field.name), std::string(field.default_text), "here"};
    const RunConfig config = resolve_config({&setting, 1});
    EXPECT_EQ(config_text(config), config_text({})) << field.name;
  }
}

TEST(ResolvedFields, FollowTheTable) {
  const auto values = resolved_fields({});
  const auto fields = config_fields();
  ASSERT_EQ(values.size(), fields.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i].name, fields[i].name);
}

TEST(ResolvedFields, AreTyped) {
  RunConfig config;
  config.layers = {0, 1, 7};
  config.analysis.seed = 18446744073709551615U;
  EXPECT_EQ(resolved(config, "layers").text, "[0, 1, 7]");
  EXPECT_FALSE(resolved(config, "layers").is_text());
  EXPECT_EQ(resolved(config, "seed").text, "18446744073709551615");
  EXPECT_EQ(resolved(config, "max_workers").text, std::nullopt);
  EXPECT_EQ(resolved(config, "standard_errors").text, "true");
  EXPECT_FALSE(resolved(config, "standard_errors").is_text());
  EXPECT_EQ(resolved(config, "model_dir").text, "");
  EXPECT_TRUE(resolved(config, "model_dir").is_text());
  EXPECT_EQ(resolved(config, "p_alpha").text, "0.01");
  EXPECT_EQ(resolved(config, "rope_scaling").text, std::nullopt);
  config.rope_scaling = R"({"factor":4.0})";
  EXPECT_EQ(resolved(config, "rope_scaling").text, R"({"factor":4.0})");
  EXPECT_FALSE(resolved(config, "rope_scaling").is_text());
  EXPECT_EQ(resolved(config, "rope_layout").text, std::nullopt);
  config.rope_layout = RotaryLayout::interleaved;
  EXPECT_EQ(resolved(config, "rope_layout").text, "interleaved");
  EXPECT_TRUE(resolved(config, "rope_layout").is_text());
}

TEST(ResolvedFields, NameOutputsRelativeToTheOutputFolder) {
  for (const char* folder : {"out", "out/", "/tmp/out", ".", "a/.."}) {
    const std::vector<Setting> settings{{"output_dir", folder, "here"}, {"bucket_csv", "/tmp/b.csv", "here"}};
    const RunConfig config = resolve_config(settings);
    EXPECT_EQ(resolved(config, "output_csv").text, "head_metrics.csv") << folder;
    EXPECT_EQ(resolved(config, "bucket_csv").text, "/tmp/b.csv") << folder;
  }
}

TEST(ResolvedFields, LeaveAbsoluteOutputsThatHaveNoRelativeName) {
  const std::vector<Setting> settings{{"output_dir", "/tmp/out", "here"}, {"bucket_csv", "/tmp/out//b.csv", "here"}};
  EXPECT_EQ(resolved(resolve_config(settings), "bucket_csv").text, "/tmp/out//b.csv");
}

TEST(ResolvedFields, HaveNoTimeAndDistanceFilesWithPythonCompat) {
  const Setting compat{"compat", "python", "--compat"};
  EXPECT_EQ(resolved(resolve_config({&compat, 1}), "time_csv").text, std::nullopt);
  EXPECT_EQ(resolved(resolve_config({&compat, 1}), "distance_csv").text, std::nullopt);
  EXPECT_EQ(resolved(resolve_config({&compat, 1}), "groups_csv").text, std::nullopt);
}

TEST(ConfigurationPage, HasEveryFieldWithItsDefault) {
  expect_page_has_every_field("configuration.md", config_fields());
}

TEST(ExampleConfigs, AreReadAndResolve) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(source_folder() / "configs")) {
    if (entry.path().extension() != ".yaml") continue;
    names.insert(entry.path().stem().string());
    const RunConfig config = resolve_config(read_yaml_settings(entry.path().string(), config_fields()));
    EXPECT_TRUE(config.output_dir) << entry.path();
  }
  for (const char* name :
       {"smollm2-135m", "qwen3-8b", "qwen3-8b-yarn4x", "example-smollm2-135m", "example-minidoc-qwen3"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(ExampleConfigs, DescribeTheirModels) {
  const auto config = [](const std::string& name) {
    const std::filesystem::path file = source_folder() / "configs" / (name + ".yaml");
    return resolve_config(read_yaml_settings(file.string(), config_fields()));
  };
  const RunConfig smollm = config("smollm2-135m");
  EXPECT_EQ(smollm.model_dir, "HuggingFaceTB_SmolLM2_135M");
  EXPECT_EQ(smollm.num_layers, 30);
  EXPECT_EQ(smollm.num_q_heads, 9);
  EXPECT_EQ(smollm.num_k_heads, 3);
  EXPECT_EQ(smollm.tables[TableId::metrics], "out/smollm2-135m/head_metrics.csv");
  for (const char* name : {"qwen3-8b", "qwen3-8b-yarn4x"}) {
    EXPECT_EQ(config(name).num_layers, 36);
    EXPECT_EQ(config(name).num_q_heads, 32);
    EXPECT_EQ(config(name).num_k_heads, 8);
  }
  for (const char* name : {"smollm2-135m", "minidoc-qwen3"}) {
    const std::string root = config(std::string("example-") + name).dataset_local_root.value_or("");
    EXPECT_TRUE(std::filesystem::exists(source_folder() / root / "config.json")) << root;
  }
}

auto all_of(const RunConfig& c) {
  const AnalysisOptions& a = c.analysis;
  return std::tuple_cat(std::tie(c.model_dir, c.num_layers, c.num_q_heads, c.num_k_heads, c.layers, c.q_heads,
                                 c.dataset_name, c.dataset_revision, c.dataset_local_root, c.dataset_cache_dir,
                                 c.download_max_workers, c.verify_cache, c.non_finite, c.max_vector_width),
                        std::tie(c.compat, a.method, a.sampler, a.weighting, a.sliding_window_unit,
                                 a.max_tokens_per_head, a.normality_max_dims, a.p_alpha, a.num_pairs_per_bucket,
                                 a.max_relative_distance, a.seed, a.standard_errors),
                        std::tie(c.output_dir, c.tables, c.max_workers, c.memory_limit),
                        std::tie(c.rope, c.rope_config, c.rope_theta, c.rope_dim, c.rope_layout, c.rope_scaling,
                                 a.vectors, a.num_triples, a.empirical_queries));
}

// Text that YAML might take for something else.
rc::Gen<std::string> awkward_text() {
  const std::vector<std::string> pieces{
      "a",   "é",  "漢", "\"", "\\", "\n",    "\t",       "\r",           " ",           "#", ": ",   "null",
      "~",   "- ", "'",  "{",  "]",  "0",     "\x7f",     "\x01",         "..",          "/", "true", "1e5",
      "---", "%",  "&a", "*a", "!",  "\\x41", "\xc2\x85", "\xe2\x80\xa8", "\xef\xbb\xbf"};
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(pieces)),
                      [](const std::vector<std::string>& chosen) {
                        std::string text;
                        for (const std::string& piece : chosen) text += piece;
                        return text.starts_with('~') ? "x" + text : text;  // a path with a home folder is refused
                      });
}

std::string random_value(const Field& field) {
  const std::string type = field.type_text();
  if (type == "integer") return std::to_string(*rc::gen::inRange(2, 10000));  // rope_dim is at least 2
  if (type == "number") return std::to_string(*rc::gen::inRange(1, 1000000)) + "e-6";
  if (type == "boolean") return *rc::gen::element<std::string>("yes", "off");
  if (type == "size") return std::to_string(*rc::gen::inRange(1, 1 << 30)) + *rc::gen::element<std::string>("", "KiB");
  if (type == "indices") {
    const int first = *rc::gen::inRange(0, 9000);
    return std::to_string(first) + "-" + std::to_string(first + *rc::gen::inRange(0, 999)) + ",3";
  }
  if (type == "mapping") return R"({"rope_type": "longrope", "factor": 4e-2, "short_factor": [1, 2.5], "x": null})";
  if (type == "text") {
    // The ending keeps outputs apart and text from being empty.
    return *awkward_text() + "." + field.name;
  }
  const std::string words = type.substr(std::string("one of ").size());
  return *rc::gen::element<std::string>(words.substr(0, words.find('|')), words.substr(words.rfind('|') + 1));
}

RC_GTEST_PROP(ConfigText, ReadsBackToTheSameConfiguration, ()) {
  std::vector<Setting> settings;
  const bool python = *rc::gen::arbitrary<bool>();
  const std::vector<std::string_view> bound{"method",          "sampler",  "weighting",   "sliding_window_unit",
                                            "standard_errors", "time_csv", "num_triples", "distance_csv",
                                            "groups_csv"};
  for (const Field& field : config_fields()) {
    const bool is_bound = std::ranges::find(bound, field.name) != bound.end();
    if ((python && is_bound) || field.name == "compat" || field.name == "num_k_heads" || *rc::gen::arbitrary<bool>())
      continue;
    if (field.name == "num_layers" || field.name == "num_q_heads") {
      settings.push_back({field.name, "10000", "here"});
    } else {
      settings.push_back({field.name, random_value(field), "here"});
    }
  }
  if (*rc::gen::arbitrary<bool>()) settings.push_back({"max_tokens_per_head", std::nullopt, "here"});
  if (python) settings.push_back({"compat", "python", "here"});
  const RunConfig config = resolve_config(settings);
  const RunConfig again = resolve_config(parse_yaml_settings(config_text(config), "x.yaml", config_fields()));
  RC_ASSERT(all_of(again) == all_of(config));
}

}  // namespace
}  // namespace attention_plasticity

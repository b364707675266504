#include "attention_plasticity/run/config_fields.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>

#include "attention_plasticity/base/error.h"
#include "attention_plasticity/run/config_page_testing.h"
#include "attention_plasticity/run/config_yaml.h"

namespace attention_plasticity {
namespace {

using Kind = ResolvedField::Kind;

const ConfigField& field_named(std::string_view name) {
  const auto fields = config_fields();
  const auto found = std::ranges::find(fields, name, &ConfigField::name);
  if (found == fields.end()) throw std::runtime_error("no such field");
  return *found;
}

ResolvedField resolved(const RunConfig& config, std::string_view name) {
  const auto fields = resolved_fields(config);
  const auto found = std::ranges::find(fields, name, &ResolvedField::name);
  if (found == fields.end()) throw std::runtime_error("no such field");
  return *found;
}

TEST(ConfigFields, HaveDistinctNamesTypesDefaultsAndHelp) {
  std::set<std::string_view> names;
  for (const ConfigField& field : config_fields()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    EXPECT_FALSE(field.type.empty()) << field.name;
    EXPECT_FALSE(field.default_text.empty()) << field.name;
    EXPECT_TRUE(field.help.ends_with('.')) << field.name;
    EXPECT_EQ(field.is_boolean, field.type == "boolean") << field.name;
  }
  EXPECT_EQ(names.size(), 41U);
}

TEST(ConfigFields, SayTypeAndDefault) {
  EXPECT_EQ(field_named("method").type, "one of positional|full|diagonal");
  EXPECT_EQ(field_named("method").default_text, "positional");
  EXPECT_EQ(field_named("compat").default_text, "none");
  EXPECT_EQ(field_named("num_layers").default_text, "discovered");
  EXPECT_EQ(field_named("layers").type, "indices");
  EXPECT_EQ(field_named("layers").default_text, "all");
  EXPECT_EQ(field_named("max_tokens_per_head").default_text, "50000");
  EXPECT_EQ(field_named("p_alpha").default_text, "0.01");
  EXPECT_EQ(field_named("standard_errors").default_text, "true");
  EXPECT_EQ(field_named("time_csv").default_text, "head_time_plasticity.csv");
  EXPECT_EQ(field_named("memory_limit").type, "size");
  EXPECT_EQ(field_named("rope").default_text, "auto");
  EXPECT_EQ(field_named("rope_layout").default_text, "half");
  EXPECT_EQ(field_named("rope_layout").type, "one of half|interleaved");
  EXPECT_EQ(field_named("rope_scaling").type, "mapping");
  EXPECT_EQ(field_named("num_triples").default_text, "4096");
}

TEST(ConfigFields, TakeTheirOwnDefaults) {
  for (const ConfigField& field : config_fields()) {
    if (resolved({}, field.name).kind == Kind::null || field.default_text == "empty") continue;
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
  EXPECT_EQ(resolved(config, "layers").kind, Kind::list);
  EXPECT_EQ(resolved(config, "layers").text, "[0, 1, 7]");
  EXPECT_EQ(resolved(config, "seed").kind, Kind::number);
  EXPECT_EQ(resolved(config, "seed").text, "18446744073709551615");
  EXPECT_EQ(resolved(config, "max_workers").kind, Kind::null);
  EXPECT_EQ(resolved(config, "max_workers").text, "null");
  EXPECT_EQ(resolved(config, "standard_errors").kind, Kind::boolean);
  EXPECT_EQ(resolved(config, "model_dir").kind, Kind::text);
  EXPECT_EQ(resolved(config, "model_dir").text, "");
  EXPECT_EQ(resolved(config, "p_alpha").text, "0.01");
  EXPECT_EQ(resolved(config, "rope_scaling").kind, Kind::null);
  config.rope_scaling = R"({"factor":4.0})";
  EXPECT_EQ(resolved(config, "rope_scaling").kind, Kind::mapping);
  EXPECT_EQ(resolved(config, "rope_scaling").text, R"({"factor":4.0})");
  EXPECT_EQ(resolved(config, "rope_layout").kind, Kind::null);
  config.rope_layout = RotaryLayout::interleaved;
  EXPECT_EQ(resolved(config, "rope_layout").text, "interleaved");
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
  EXPECT_EQ(resolved(resolve_config({&compat, 1}), "time_csv").kind, Kind::null);
  EXPECT_EQ(resolved(resolve_config({&compat, 1}), "distance_csv").kind, Kind::null);
}

TEST(ConfigurationPage, HasEveryFieldWithItsDefault) {
  expect_page_has_every_field("configuration.md", config_fields());
}

TEST(ExampleConfigs, AreReadAndResolve) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(AP_SOURCE_DIR) / "configs")) {
    if (entry.path().extension() != ".yaml") continue;
    names.insert(entry.path().stem().string());
    const RunConfig config = resolve_config(read_yaml_settings(entry.path().string()));
    EXPECT_TRUE(config.output_dir) << entry.path();
  }
  for (const char* name :
       {"smollm2-135m", "qwen3-8b", "qwen3-8b-yarn4x", "example-smollm2-135m", "example-minidoc-qwen3"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(ExampleConfigs, DescribeTheirModels) {
  const auto config = [](const std::string& name) {
    return resolve_config(
        read_yaml_settings((std::filesystem::path(AP_SOURCE_DIR) / "configs" / (name + ".yaml")).string()));
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
    EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(AP_SOURCE_DIR) / root / "config.json")) << root;
  }
}

}  // namespace
}  // namespace attention_plasticity

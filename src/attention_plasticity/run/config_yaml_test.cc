#include "attention_plasticity/run/config_yaml.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

#include "attention_plasticity/base/error.h"
#include "attention_plasticity/base/temporary_folder_testing.h"
#include "attention_plasticity/run/config_fields.h"

namespace attention_plasticity {
namespace {

// What the user reads when the text is refused; empty when it is not.
std::string refusal(const std::string& yaml) {
  try {
    parse_yaml_settings(yaml, "x.yaml");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return {};
}

std::string repeated(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

std::string file_refusal(const std::string& file) {
  try {
    read_yaml_settings(file);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return {};
}

TEST(YamlSettings, GiveFieldValueAndPlaceInTheOrderOfTheFile) {
  const auto settings = parse_yaml_settings("# a run\nseed: 4\n\nlayers: [0-3, 7]  # some\nmodel_dir: ~\n", "x.yaml");
  ASSERT_EQ(settings.size(), 3U);
  EXPECT_EQ(settings[0].field, "seed");
  EXPECT_EQ(settings[0].value, "4");
  EXPECT_EQ(settings[0].where, "x.yaml:2");
  EXPECT_EQ(settings[1].value, "0-3,7");
  EXPECT_EQ(settings[1].where, "x.yaml:4");
  EXPECT_EQ(settings[2].value, std::nullopt);
}

TEST(YamlSettings, MayBeOfOtherFields) {
  const std::vector<ConfigField> fields{{"colour", "text", "red", "A colour.", false},
                                        {"width", "number", "1", "A width.", false}};
  const auto settings = parse_yaml_settings("width: 3\ncolour: 4\n", "x.yaml", fields);
  ASSERT_EQ(settings.size(), 2U);
  EXPECT_EQ(settings[0].value, "3");
  EXPECT_EQ(settings[1].field, "colour");
  EXPECT_THROW(parse_yaml_settings("seed: 1\n", "x.yaml", fields), Error);
  try {
    parse_yaml_settings("width: 3\nwidht: 4\n", "x.yaml", fields);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "x.yaml:2: widht: unknown key; did you mean width?");
  }
}

TEST(YamlSettings, GiveAMappingAsJson) {
  const auto value = [](const std::string& yaml) { return parse_yaml_settings(yaml, "x.yaml").at(0).value; };
  EXPECT_EQ(value("rope_scaling:\n  rope_type: yarn\n  factor: 4.0\n  truncate: false\n  list: [1, 2.5]\n  no: ~\n"),
            R"({"rope_type":"yarn","factor":4.0,"truncate":false,"list":[1,2.5],"no":null})");
  EXPECT_EQ(value("rope_scaling: {type: \"4\", factor: 1e3}\n"), R"({"type":"4","factor":1000.0})");
  EXPECT_EQ(value("rope_scaling: '{\"factor\": 4}'\n"), R"({"factor": 4})");
  EXPECT_EQ(value("rope_scaling: null\n"), std::nullopt);
}

TEST(YamlSettings, RefuseMappingsThatAreNoJsonObject) {
  EXPECT_EQ(refusal("seed: 1\nrope_scaling: [1, 2]\n"),
            "x.yaml:2: rope_scaling: is a list; it must be a mapping such as {rope_type: linear, factor: 4}");
  EXPECT_EQ(refusal("rope_scaling: {a: 1, a: 2}\n"), "x.yaml:1: rope_scaling: repeats the key a");
  EXPECT_EQ(refusal("rope_scaling: {a: {b: {c: 1}}}\n"), "x.yaml:1: rope_scaling: is nested too deeply");
  EXPECT_EQ(refusal("rope_scaling: &x {a: *x}\n"), "x.yaml:1: rope_scaling: is nested too deeply");
  EXPECT_EQ(refusal("rope_scaling: {[1, 2]: 3}\n"), "x.yaml:1: rope_scaling: a key in it is not a single word");
  EXPECT_EQ(refusal("rope_scaling: {a: !!int 3}\n"),
            "x.yaml:1: rope_scaling: has the tag tag:yaml.org,2002:int; tags are not supported");
}

TEST(YamlSettings, AreNoneInAnEmptyFile) {
  EXPECT_TRUE(parse_yaml_settings("", "x.yaml").empty());
  EXPECT_TRUE(parse_yaml_settings("# nothing yet\n", "x.yaml").empty());
  EXPECT_TRUE(parse_yaml_settings("---\n", "x.yaml").empty());
  EXPECT_TRUE(parse_yaml_settings("{}", "x.yaml").empty());
}

TEST(YamlSettings, ReadTextAsWritten) {
  const auto value = [](const std::string& yaml) { return parse_yaml_settings(yaml, "x.yaml").at(0).value; };
  EXPECT_EQ(value("dataset_revision: 1.10\n"), "1.10");
  EXPECT_EQ(value("model_dir: no\n"), "no");
  EXPECT_EQ(value("model_dir: \"null\"\n"), "null");
  EXPECT_EQ(value("model_dir: ''\n"), "");
  EXPECT_EQ(value("model_dir: NULL\n"), std::nullopt);
}

TEST(YamlSettings, TakeWindowsLineEndsTabsAndAByteOrderMark) {
  const auto settings = parse_yaml_settings("\xef\xbb\xbfseed:\t4\r\nmodel_dir: x\r\n", "x.yaml");
  ASSERT_EQ(settings.size(), 2U);
  EXPECT_EQ(settings[0].value, "4");
  EXPECT_EQ(settings[1].value, "x");
  EXPECT_EQ(settings[1].where, "x.yaml:2");
}

TEST(YamlSettings, FollowAliasesAndNameTheLineThatUsesThem) {
  const auto settings = parse_yaml_settings("num_q_heads: &heads 8\nnum_k_heads: *heads\n", "x.yaml");
  ASSERT_EQ(settings.size(), 2U);
  EXPECT_EQ(settings[1].value, "8");
  EXPECT_EQ(settings[1].where, "x.yaml:2");
}

TEST(YamlSettings, RefuseWhatIsNoMapping) {
  EXPECT_EQ(refusal("- seed\n"), "x.yaml:1: not a mapping of fields to values");
  EXPECT_EQ(refusal("seed"), "x.yaml:1: not a mapping of fields to values");
  EXPECT_EQ(refusal("seed: 1\n---\nseed: 2\n"), "x.yaml:2: a second YAML document; a configuration is one mapping");
}

TEST(YamlSettings, RefuseRepeatedKeys) {
  EXPECT_EQ(refusal("seed: 1\n\nseed: 1\n"), "x.yaml:3: seed: repeats the key of line 1");
  EXPECT_EQ(refusal("seed: 1\n\"seed\": 2\n"), "x.yaml:2: seed: repeats the key of line 1");
}

TEST(YamlSettings, RefuseNestingWhereAValueIsDue) {
  EXPECT_EQ(refusal("seed:\n  a: 1\n"), "x.yaml:1: seed: is a mapping; it must be a single value (integer)");
  EXPECT_EQ(refusal("method: [full]\n"),
            "x.yaml:1: method: is a list; it must be a single value (one of positional|full|diagonal)");
}

TEST(YamlSettings, RefuseQuotedNumbersAndBooleans) {
  EXPECT_EQ(refusal("seed: \"4\"\n"), "x.yaml:1: seed: \"4\" is text; write the integer without quotes");
  EXPECT_EQ(refusal("p_alpha: '0.1'\n"), "x.yaml:1: p_alpha: \"0.1\" is text; write the number without quotes");
  EXPECT_EQ(refusal("standard_errors: 'yes'\n"),
            "x.yaml:1: standard_errors: \"yes\" is text; write the boolean without quotes");
  EXPECT_EQ(refusal("method: 'full'\nlayers: '0-3'\nmemory_limit: '8GiB'\n"), "");
}

TEST(YamlSettings, RefuseTagsMergeKeysAndKeysThatAreNoNames) {
  EXPECT_EQ(refusal("seed: !!int 4\n"), "x.yaml:1: seed: has the tag tag:yaml.org,2002:int; tags are not supported");
  EXPECT_EQ(refusal("<<: {seed: 1}\n"), "x.yaml:1: <<: merge keys are not supported; write the fields out");
  EXPECT_EQ(refusal("? [seed]\n: 1\n"), "x.yaml:1: a key must be the name of a field");
  EXPECT_EQ(refusal("~: 1\n"), "x.yaml:1: a key must be the name of a field");
}

TEST(YamlSettings, NameTheLineOfASyntaxError) {
  EXPECT_EQ(refusal("seed: 1\nlayers: [1, 2\n").substr(0, 24), "x.yaml:3: not valid YAML");
  EXPECT_EQ(refusal("seed: 1\n\tmodel_dir: x\n").substr(0, 8), "x.yaml:2");
  EXPECT_EQ(refusal("seed: *nowhere\n"), "x.yaml:1: not valid YAML: the referenced anchor is not defined");
}

TEST(YamlSettings, RefuseBinaryAndForeignEncodings) {
  EXPECT_EQ(refusal(std::string("\xff\xfes\0e\0", 6)), "x.yaml: is not UTF-8 text");
  EXPECT_EQ(refusal(std::string("seed: 1\n\0", 9)), "x.yaml:2: has the control character \\x00; YAML is plain text");
  EXPECT_EQ(refusal("PAR1\x15\x04"), "x.yaml:1: has the control character \\x15; YAML is plain text");
  // Overlong, surrogate, past the last character, cut short, continuation alone.
  for (const char* text :
       {"\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf5", "\xe2\x82", "\x80"}) {
    EXPECT_EQ(refusal(std::string("model_dir: ") + text), "x.yaml: is not UTF-8 text");
  }
  EXPECT_EQ(refusal("model_dir: é€𝄞\xef\xbf\xbd\n"), "");
}

TEST(YamlSettings, SurviveDeepNestingAndAliasBombs) {
  for (const char* opening : {"[", "{", "{a: ", "[[{", "? ", "- ", "!x ", "&a ", "\"", "a:\n ", "\n- ", "---\n"}) {
    EXPECT_NE(refusal("seed: " + repeated(opening, 20000)), "") << opening;
  }
  EXPECT_EQ(refusal("seed: " + repeated("[", 20000)), "x.yaml:1: is nested too deeply; a configuration is one mapping");
  EXPECT_NE(refusal("layers: &a [*a]\n"), "");
  EXPECT_NE(refusal("&a {layers: *a}\n"), "");
  std::string bomb = "seed: &a [1,1,1,1,1,1,1,1,1]\n";
  for (char c = 'b'; c < 'n'; ++c) {
    bomb += std::string("layers") + c + ": &" + c + " [" +
            repeated(std::string("*") + static_cast<char>(c - 1) + ",", 9) + "]\n";
  }
  EXPECT_NE(refusal(bomb), "");
}

TEST(YamlSettings, SurviveALoneComma) {
  EXPECT_EQ(refusal(","), "x.yaml:1: a second YAML document; a configuration is one mapping");
  EXPECT_NE(refusal("seed: 1\n,"), "");
  EXPECT_NE(refusal("&a,"), "");
}

TEST(YamlSettings, RefuseAFileOfMoreThanAMebibyte) {
  EXPECT_EQ(refusal(std::string((std::size_t{1} << 20) + 1, '#')),
            "x.yaml: is larger than 1 MiB; that is no configuration");
  EXPECT_EQ(refusal(std::string(std::size_t{1} << 20, '#')), "");
}

RC_GTEST_PROP(YamlSettings, NeverFailOtherwiseThanByAnErrorOfOneLine, ()) {
  const std::vector<std::string> pieces{"seed", "layers", ": ", ":",  "\n",  "  ",   "- ",  "[",  "]",
                                        "{",    "}",      ",",  "1",  "0-3", "\"",   "'",   "#",  "|",
                                        ">",    "&a",     "*a", "!!", "? ",  "<<",   "~",   "\t", "\r\n",
                                        "---",  "...",    "%",  "\\", "é",   "\xff", "null"};
  const auto chosen = *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(pieces));
  std::string yaml;
  for (const std::string& piece : chosen) yaml += piece;
  try {
    resolve_config(parse_yaml_settings(yaml, "x.yaml"));
  } catch (const Error& error) {
    const std::string message = error.what();
    RC_ASSERT(message.starts_with("x.yaml"));
    RC_ASSERT(message.find('\n') == std::string::npos);
  }
}

TEST(YamlFile, IsReadWithItsNameInEveryPlace) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "run.yaml").string();
  std::ofstream(file) << "seed: 4\n";
  const auto settings = read_yaml_settings(file);
  ASSERT_EQ(settings.size(), 1U);
  EXPECT_EQ(settings[0].where, file + ":1");
  std::ofstream(file) << std::string(std::size_t{1} << 21, '#');
  EXPECT_EQ(file_refusal(file), file + ": is larger than 1 MiB; that is no configuration");
}

TEST(YamlFile, ThatCannotBeReadIsWrongUse) {
  const TemporaryFolder folder;
  const std::string missing = (folder.path() / "missing.yaml").string();
  EXPECT_EQ(file_refusal(missing), missing + ": cannot be read: No such file or directory");
  EXPECT_EQ(file_refusal(folder.path().string()), folder.path().string() + ": is a folder; --config takes a YAML file");
  EXPECT_NE(file_refusal(""), "");
}

auto all_of(const RunConfig& c) {
  const AnalysisOptions& a = c.analysis;
  return std::tuple_cat(
      std::tie(c.model_dir, c.num_layers, c.num_q_heads, c.num_k_heads, c.layers, c.q_heads, c.dataset_name,
               c.dataset_revision, c.dataset_local_root, c.dataset_cache_dir, c.download_max_workers, c.non_finite),
      std::tie(c.compat, a.method, a.sampler, a.weighting, a.sliding_window_unit, a.max_tokens_per_head,
               a.normality_max_dims, a.p_alpha, a.num_pairs_per_bucket, a.max_relative_distance, a.seed,
               a.standard_errors, a.constant_component_fits),
      std::tie(c.output_dir, c.tables, c.max_workers, c.memory_limit));
}

// Text of a field, in every guise that YAML might take for something else.
rc::Gen<std::string> awkward_text() {
  const std::vector<std::string> pieces{
      "a",   "é",  "漢", "\"", "\\", "\n",    "\t",       "\r",           " ",           "#", ": ",   "null",
      "~",   "- ", "'",  "{",  "]",  "0",     "\x7f",     "\x01",         "..",          "/", "true", "1e5",
      "---", "%",  "&a", "*a", "!",  "\\x41", "\xc2\x85", "\xe2\x80\xa8", "\xef\xbb\xbf"};
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(pieces)),
                      [](const std::vector<std::string>& chosen) {
                        std::string text;
                        for (const std::string& piece : chosen) text += piece;
                        return text;
                      });
}

std::string random_value(const ConfigField& field) {
  const std::string type(field.type);
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
    return *awkward_text() + "." + std::string(field.name);
  }
  const std::string words = type.substr(std::string("one of ").size());
  return *rc::gen::element<std::string>(words.substr(0, words.find('|')), words.substr(words.rfind('|') + 1));
}

RC_GTEST_PROP(ConfigText, ReadsBackToTheSameConfiguration, ()) {
  std::vector<Setting> settings;
  const bool python = *rc::gen::arbitrary<bool>();
  const std::vector<std::string_view> bound{"method",          "sampler",  "weighting",   "sliding_window_unit",
                                            "standard_errors", "time_csv", "num_triples", "distance_csv"};
  for (const ConfigField& field : config_fields()) {
    const bool is_bound = std::ranges::find(bound, field.name) != bound.end();
    if ((python && is_bound) || field.name == "compat" || field.name == "num_k_heads" || *rc::gen::arbitrary<bool>())
      continue;
    if (field.name == "num_layers" || field.name == "num_q_heads") {
      settings.push_back({std::string(field.name), "10000", "here"});
    } else {
      settings.push_back({std::string(field.name), random_value(field), "here"});
    }
  }
  if (*rc::gen::arbitrary<bool>()) settings.push_back({"max_tokens_per_head", std::nullopt, "here"});
  if (python) settings.push_back({"compat", "python", "here"});
  const RunConfig config = resolve_config(settings);
  const RunConfig again = resolve_config(parse_yaml_settings(config_text(config), "x.yaml"));
  RC_ASSERT(all_of(again) == all_of(config));
}

TEST(ConfigText, WritesPlainWordsPlainlyAndQuotesTheRest) {
  RunConfig config;
  config.model_dir = "yes";
  config.dataset_local_root = "my dump";
  config.layers = {0, 1, 7};
  const std::string text = "\n" + config_text(config);
  for (const char* line :
       {"model_dir: \"yes\"", "dataset_local_root: \"my dump\"", "layers: [0, 1, 7]", "q_heads: null",
        "dataset_name: viktoroo/sniffed-qk", "method: positional", "p_alpha: 0.01", "compat: none",
        "standard_errors: true", "output_dir: null", "output_csv: head_metrics.csv"}) {
    EXPECT_NE(text.find(std::string("\n") + line + "\n"), std::string::npos) << line << " in" << text;
  }
}

}  // namespace
}  // namespace attention_plasticity

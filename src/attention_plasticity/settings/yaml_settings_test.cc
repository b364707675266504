#include "attention_plasticity/settings/yaml_settings.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "attention_plasticity/base/temporary_folder_testing.h"

namespace attention_plasticity {
namespace {

enum class Method { positional, full, diagonal };

struct YamlOptions {
  std::string model_dir;
  int heads = 1;
  std::optional<std::vector<int>> layers;
  Method method = Method::positional;
  double p_alpha = 0.01;
  std::uint64_t seed = 0;
  bool standard_errors = true;
  std::optional<std::string> rope_scaling;
  std::optional<std::uint64_t> memory_limit;
};

// A field of each type.
const FieldTable<YamlOptions>& yaml_table() {
  static const FieldTable<YamlOptions> fields{
      {"model_dir", values::text_or_empty(), &YamlOptions::model_dir, "A folder.", "empty"},
      {"heads", values::count(), &YamlOptions::heads, "A count."},
      {"layers", values::indices(), &YamlOptions::layers, "Some layers.", "all"},
      {"method", values::word({"positional", "full", "diagonal"}), &YamlOptions::method, "A word."},
      {"p_alpha", values::share(false), &YamlOptions::p_alpha, "A share."},
      {"seed", values::seed_number(), &YamlOptions::seed, "A seed."},
      {"standard_errors", values::boolean(), &YamlOptions::standard_errors, "A boolean."},
      {"rope_scaling", values::json_object(), &YamlOptions::rope_scaling, "A mapping.", "none"},
      {"memory_limit", values::size_in_bytes(), &YamlOptions::memory_limit, "A size.", "none"},
  };
  return fields;
}

std::vector<Setting> parsed(const std::string& yaml) {
  return parse_yaml_settings(yaml, "x.yaml", descriptions(yaml_table()));
}

// The error message; empty when there is no error.
std::string yaml_refusal(const std::string& yaml) {
  try {
    parsed(yaml);
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
    read_yaml_settings(file, descriptions(yaml_table()));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return {};
}

TEST(YamlSettings, GiveFieldValueAndPlaceInTheOrderOfTheFile) {
  const auto settings = parsed("# a run\nseed: 4\n\nlayers: [0-3, 7]  # some\nmodel_dir: ~\n");
  ASSERT_EQ(settings.size(), 3U);
  EXPECT_EQ(settings[0].field, "seed");
  EXPECT_EQ(settings[0].value, "4");
  EXPECT_EQ(settings[0].where, "x.yaml:2");
  EXPECT_EQ(settings[1].value, "0-3,7");
  EXPECT_EQ(settings[1].where, "x.yaml:4");
  EXPECT_EQ(settings[2].value, std::nullopt);
}

TEST(YamlSettings, RefuseUnknownKeysWithTheNearest) {
  EXPECT_EQ(yaml_refusal("seed: 3\nsede: 4\n"), "x.yaml:2: sede: unknown key; did you mean seed?");
  EXPECT_EQ(yaml_refusal("temperature: 3\n"), "x.yaml:1: temperature: unknown key");
}

TEST(YamlSettings, GiveAMappingAsJson) {
  const auto value = [](const std::string& yaml) { return parsed(yaml).at(0).value; };
  EXPECT_EQ(value("rope_scaling:\n  rope_type: yarn\n  factor: 4.0\n  truncate: false\n  list: [1, 2.5]\n  no: ~\n"),
            R"({"rope_type":"yarn","factor":4.0,"truncate":false,"list":[1,2.5],"no":null})");
  EXPECT_EQ(value("rope_scaling: {type: \"4\", factor: 1e3}\n"), R"({"type":"4","factor":1000.0})");
  EXPECT_EQ(value("rope_scaling: '{\"factor\": 4}'\n"), R"({"factor": 4})");
  EXPECT_EQ(value("rope_scaling: null\n"), std::nullopt);
}

TEST(YamlSettings, RefuseMappingsThatAreNoJsonObject) {
  EXPECT_EQ(yaml_refusal("seed: 1\nrope_scaling: [1, 2]\n"),
            "x.yaml:2: rope_scaling: is a list; it must be a mapping such as {rope_type: linear, factor: 4}");
  EXPECT_EQ(yaml_refusal("rope_scaling: {a: 1, a: 2}\n"), "x.yaml:1: rope_scaling: repeats the key a");
  EXPECT_EQ(yaml_refusal("rope_scaling: {a: {b: {c: 1}}}\n"), "x.yaml:1: rope_scaling: is nested too deeply");
  EXPECT_EQ(yaml_refusal("rope_scaling: &x {a: *x}\n"), "x.yaml:1: rope_scaling: is nested too deeply");
  EXPECT_EQ(yaml_refusal("rope_scaling: {[1, 2]: 3}\n"),
            "x.yaml:1: rope_scaling: one of its keys is not a single word");
  EXPECT_EQ(yaml_refusal("rope_scaling: {a: !!int 3}\n"),
            "x.yaml:1: rope_scaling: has the tag tag:yaml.org,2002:int; tags are not supported");
}

TEST(YamlSettings, AreNoneInAnEmptyFile) {
  EXPECT_TRUE(parsed("").empty());
  EXPECT_TRUE(parsed("# nothing yet\n").empty());
  EXPECT_TRUE(parsed("---\n").empty());
  EXPECT_TRUE(parsed("{}").empty());
}

TEST(YamlSettings, ReadTextAsWritten) {
  const auto value = [](const std::string& yaml) { return parsed(yaml).at(0).value; };
  EXPECT_EQ(value("model_dir: 1.10\n"), "1.10");
  EXPECT_EQ(value("model_dir: no\n"), "no");
  EXPECT_EQ(value("model_dir: \"null\"\n"), "null");
  EXPECT_EQ(value("model_dir: ''\n"), "");
  EXPECT_EQ(value("model_dir: NULL\n"), std::nullopt);
}

TEST(YamlSettings, TakeWindowsLineEndsTabsAndAByteOrderMark) {
  const auto settings = parsed("\xef\xbb\xbfseed:\t4\r\nmodel_dir: x\r\n");
  ASSERT_EQ(settings.size(), 2U);
  EXPECT_EQ(settings[0].value, "4");
  EXPECT_EQ(settings[1].value, "x");
  EXPECT_EQ(settings[1].where, "x.yaml:2");
}

TEST(YamlSettings, FollowAliasesAndNameTheLineThatUsesThem) {
  const auto settings = parsed("heads: &h 8\nseed: *h\n");
  ASSERT_EQ(settings.size(), 2U);
  EXPECT_EQ(settings[1].value, "8");
  EXPECT_EQ(settings[1].where, "x.yaml:2");
}

TEST(YamlSettings, RefuseWhatIsNoMapping) {
  EXPECT_EQ(yaml_refusal("- seed\n"), "x.yaml:1: not a mapping of fields to values");
  EXPECT_EQ(yaml_refusal("seed"), "x.yaml:1: not a mapping of fields to values");
  EXPECT_EQ(yaml_refusal("seed: 1\n---\nseed: 2\n"),
            "x.yaml:2: a second YAML document; a configuration is one mapping");
}

TEST(YamlSettings, RefuseRepeatedKeys) {
  EXPECT_EQ(yaml_refusal("seed: 1\n\nseed: 1\n"), "x.yaml:3: seed: repeats the key of line 1");
  EXPECT_EQ(yaml_refusal("seed: 1\n\"seed\": 2\n"), "x.yaml:2: seed: repeats the key of line 1");
}

TEST(YamlSettings, RefuseNestingWhereAValueIsDue) {
  EXPECT_EQ(yaml_refusal("seed:\n  a: 1\n"), "x.yaml:1: seed: is a mapping; it must be a single value (integer)");
  EXPECT_EQ(yaml_refusal("method: [full]\n"),
            "x.yaml:1: method: is a list; it must be a single value (one of positional|full|diagonal)");
}

TEST(YamlSettings, RefuseQuotedNumbersAndBooleans) {
  EXPECT_EQ(yaml_refusal("seed: \"4\"\n"), "x.yaml:1: seed: \"4\" is text; write the integer without quotes");
  EXPECT_EQ(yaml_refusal("p_alpha: '0.1'\n"), "x.yaml:1: p_alpha: \"0.1\" is text; write the number without quotes");
  EXPECT_EQ(yaml_refusal("standard_errors: 'yes'\n"),
            "x.yaml:1: standard_errors: \"yes\" is text; write the boolean without quotes");
  EXPECT_EQ(yaml_refusal("method: 'full'\nlayers: '0-3'\nmemory_limit: '8GiB'\n"), "");
}

TEST(YamlSettings, RefuseTagsMergeKeysAndKeysThatAreNoNames) {
  EXPECT_EQ(yaml_refusal("seed: !!int 4\n"),
            "x.yaml:1: seed: has the tag tag:yaml.org,2002:int; tags are not supported");
  EXPECT_EQ(yaml_refusal("<<: {seed: 1}\n"), "x.yaml:1: <<: merge keys are not supported; write the fields out");
  EXPECT_EQ(yaml_refusal("? [seed]\n: 1\n"), "x.yaml:1: a key must be the name of a field");
  EXPECT_EQ(yaml_refusal("~: 1\n"), "x.yaml:1: a key must be the name of a field");
}

TEST(YamlSettings, NameTheLineOfASyntaxError) {
  EXPECT_EQ(yaml_refusal("seed: 1\nlayers: [1, 2\n").substr(0, 24), "x.yaml:3: not valid YAML");
  EXPECT_EQ(yaml_refusal("seed: 1\n\tmodel_dir: x\n").substr(0, 8), "x.yaml:2");
  EXPECT_EQ(yaml_refusal("seed: *nowhere\n"), "x.yaml:1: not valid YAML: the referenced anchor is not defined");
}

TEST(YamlSettings, RefuseBinaryAndForeignEncodings) {
  EXPECT_EQ(yaml_refusal(std::string("\xff\xfes\0e\0", 6)), "x.yaml: is not UTF-8 text");
  EXPECT_EQ(yaml_refusal(std::string("seed: 1\n\0", 9)),
            "x.yaml:2: has the control character \\x00; YAML is plain text");
  EXPECT_EQ(yaml_refusal("PAR1\x15\x04"), "x.yaml:1: has the control character \\x15; YAML is plain text");
  // Overlong, surrogate, past the last character, cut short, continuation alone.
  for (const char* text :
       {"\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf5", "\xe2\x82", "\x80"}) {
    EXPECT_EQ(yaml_refusal(std::string("model_dir: ") + text), "x.yaml: is not UTF-8 text");
  }
  EXPECT_EQ(yaml_refusal("model_dir: é€𝄞\xef\xbf\xbd\n"), "");
}

TEST(YamlSettings, ReadEveryEscapeAsUtf8) {
  const std::string escaped = R"("é\_\N\L\P\xA0\x85\u00ff\U0001D11E\_")";
  const std::string text = "é\u00a0\xC2\x85\u2028\u2029\u00a0\xC2\x85ÿ𝄞\u00a0";
  EXPECT_EQ(parsed("model_dir: " + escaped).at(0).value, text);
  EXPECT_EQ(parsed("rope_scaling: {" + escaped + ": [" + escaped + "]}").at(0).value,
            "{\"" + text + "\":[\"" + text + "\"]}");
}

TEST(YamlSettings, SurviveDeepNestingAndAliasBombs) {
  for (const char* opening : {"[", "{", "{a: ", "[[{", "? ", "- ", "!x ", "&a ", "\"", "a:\n ", "\n- ", "---\n"}) {
    EXPECT_NE(yaml_refusal("seed: " + repeated(opening, 20000)), "") << opening;
  }
  EXPECT_EQ(yaml_refusal("seed: " + repeated("[", 20000)),
            "x.yaml:1: is nested too deeply; a configuration is one mapping");
  EXPECT_NE(yaml_refusal("layers: &a [*a]\n"), "");
  EXPECT_NE(yaml_refusal("&a {layers: *a}\n"), "");
  std::string bomb = "seed: &a [1,1,1,1,1,1,1,1,1]\n";
  for (char c = 'b'; c < 'n'; ++c) {
    bomb += std::string("layers") + c + ": &" + c + " [" +
            repeated(std::string("*") + static_cast<char>(c - 1) + ",", 9) + "]\n";
  }
  EXPECT_NE(yaml_refusal(bomb), "");
}

TEST(YamlSettings, SurviveALoneComma) {
  EXPECT_EQ(yaml_refusal(","), "x.yaml:1: a second YAML document; a configuration is one mapping");
  EXPECT_NE(yaml_refusal("seed: 1\n,"), "");
  EXPECT_NE(yaml_refusal("&a,"), "");
}

TEST(YamlSettings, RefuseAFileOfMoreThanAMebibyte) {
  EXPECT_EQ(yaml_refusal(std::string((std::size_t{1} << 20) + 1, '#')),
            "x.yaml: is larger than 1 MiB, too large for a configuration");
  EXPECT_EQ(yaml_refusal(std::string(std::size_t{1} << 20, '#')), "");
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
    resolve(yaml_table(), parsed(yaml));
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
  const auto settings = read_yaml_settings(file, descriptions(yaml_table()));
  ASSERT_EQ(settings.size(), 1U);
  EXPECT_EQ(settings[0].where, file + ":1");
  std::ofstream(file) << std::string(std::size_t{1} << 21, '#');
  EXPECT_EQ(file_refusal(file), file + ": is larger than 1 MiB, too large for a configuration");
}

TEST(YamlFile, ThatCannotBeReadIsWrongUse) {
  const TemporaryFolder folder;
  const std::string missing = (folder.path() / "missing.yaml").string();
  EXPECT_EQ(file_refusal(missing), missing + ": cannot be read: No such file or directory");
  EXPECT_EQ(file_refusal(folder.path().string()), folder.path().string() + ": is a folder; a YAML file is expected");
  EXPECT_NE(file_refusal(""), "");
}

TEST(YamlText, WritesPlainWordsPlainlyAndQuotesTheRest) {
  YamlOptions options;
  EXPECT_EQ(
      yaml_text(field_values(yaml_table(), options)),
      "model_dir: \"\"\nheads: 1\nlayers: null\nmethod: positional\np_alpha: 0.01\nseed: 0\nstandard_errors: true\n"
      "rope_scaling: null\nmemory_limit: null\n");
  const auto line_of = [&](const std::string& text) {
    options.model_dir = text;
    const std::string yaml = yaml_text(field_values(yaml_table(), options));
    return yaml.substr(0, yaml.find('\n'));
  };
  EXPECT_EQ(line_of("org/name-1.0"), "model_dir: org/name-1.0");
  EXPECT_EQ(line_of("Yes"), "model_dir: \"Yes\"");
  EXPECT_EQ(line_of("1.10"), "model_dir: \"1.10\"");
  EXPECT_EQ(line_of("my dump é"), "model_dir: \"my dump é\"");
  EXPECT_EQ(line_of("a\"b\\c\nd"), "model_dir: \"a\\\"b\\\\c\\nd\"");
  EXPECT_EQ(line_of("\x7f"), "model_dir: \"\\x7f\"");
}

TEST(YamlText, ReadsBackToTheSameValues) {
  YamlOptions options;
  options.model_dir = "null";
  options.layers = {0, 1, 7};
  options.rope_scaling = R"({"type":"4","list":[1,2.5],"x":null})";
  options.memory_limit = 1024;
  const std::string yaml = yaml_text(field_values(yaml_table(), options));
  const YamlOptions again = resolve(yaml_table(), parsed(yaml));
  EXPECT_EQ(again.model_dir, "null");
  EXPECT_EQ(again.layers, options.layers);
  EXPECT_EQ(again.rope_scaling, options.rope_scaling);
  EXPECT_EQ(yaml_text(field_values(yaml_table(), again)), yaml);
}

}  // namespace
}  // namespace attention_plasticity

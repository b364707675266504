#include "attention_plasticity/options/config.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "attention_plasticity/error.h"
#include "attention_plasticity/options/config_fields.h"
#include "attention_plasticity/settings/yaml_settings.h"

namespace attention_plasticity {
namespace {

using FlagTexts = std::vector<std::pair<std::string, std::string>>;

RunConfig resolved(const std::string& yaml, const FlagTexts& flags = {}) {
  std::vector<Setting> settings = parse_yaml_settings(yaml, "x.yaml", config_fields());
  for (const auto& [flag, value] : flags) settings.push_back(flag_setting(flag, value));
  return resolve_config(settings);
}

RunConfig with_flags(const FlagTexts& flags) { return resolved("", flags); }

// The error message; empty when there is no error.
std::string config_refusal(const std::string& yaml, const FlagTexts& flags = {}) {
  try {
    resolved(yaml, flags);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return {};
}

std::string flag_refusal(const std::string& flag, const std::string& value) {
  return config_refusal("", {{flag, value}});
}

TEST(ResolveConfig, GivesTheDefaultsWithoutSettings) {
  const RunConfig config = with_flags({});
  EXPECT_EQ(config.dataset_name, "viktoroo/sniffed-qk");
  EXPECT_EQ(config.dataset_revision, "main");
  EXPECT_EQ(config.download_max_workers, 8);
  EXPECT_EQ(config.analysis.max_tokens_per_head, 50000U);
  EXPECT_EQ(config.analysis.method, Method::positional);
  EXPECT_EQ(config.tables[TableId::metrics], "head_metrics.csv");
  EXPECT_EQ(config.max_workers, std::nullopt);
  EXPECT_EQ(config.layers, std::nullopt);
}

TEST(ResolveConfig, LetsFlagsWinOverTheFileAndTheLastFlagOverTheFirst) {
  EXPECT_EQ(resolved("seed: 1\n").analysis.seed, 1U);
  EXPECT_EQ(resolved("seed: 1\n", {{"--seed", "2"}}).analysis.seed, 2U);
  EXPECT_EQ(resolved("seed: 1\n", {{"--seed", "2"}, {"--seed", "3"}}).analysis.seed, 3U);
}

TEST(ResolveConfig, TakesDashesInFlags) {
  EXPECT_EQ(with_flags({{"--max-workers", "4"}}).max_workers, 4);
  EXPECT_EQ(flag_refusal("--max-workers", "0"),
            "--max-workers: 0 is out of range; it must lie between 1 and 2147483647");
}

TEST(ResolveConfig, UnsetsWithNull) {
  EXPECT_EQ(resolved("num_pairs_per_bucket: 7\n", {{"--num_pairs_per_bucket", "null"}}).analysis.num_pairs_per_bucket,
            256U);
  EXPECT_EQ(resolved("layers: 3\n", {{"--layers", "null"}}).layers, std::nullopt);
  EXPECT_EQ(resolved("seed: 5\nlayers: ~\nmodel_dir:\n").model_dir, "");
  EXPECT_EQ(resolved("output_csv: null\n").tables[TableId::metrics], "head_metrics.csv");
}

TEST(ResolveConfig, TakesNullAndZeroTokensForAllRows) {
  EXPECT_EQ(resolved("max_tokens_per_head: null\n").analysis.max_tokens_per_head, std::nullopt);
  EXPECT_EQ(resolved("max_tokens_per_head: 0\n").analysis.max_tokens_per_head, std::nullopt);
  EXPECT_EQ(resolved("max_tokens_per_head: null\n", {{"--max_tokens_per_head", "9"}}).analysis.max_tokens_per_head, 9U);
  EXPECT_EQ(with_flags({{"--max_tokens_per_head", "null"}}).analysis.max_tokens_per_head, std::nullopt);
}

TEST(ResolveConfig, SuggestsTheNearestNameForAnUnknownOne) {
  EXPECT_EQ(config_refusal("seed: 1\n\nmax_worker: 3\n"),
            "x.yaml:3: max_worker: unknown key; did you mean max_workers?");
  EXPECT_EQ(config_refusal("max-workers: 3\n"), "x.yaml:1: max-workers: unknown key; did you mean max_workers?");
  EXPECT_EQ(config_refusal("temperature: 3\n"), "x.yaml:1: temperature: unknown key");
  EXPECT_EQ(flag_refusal("--p-alfa", "3"), "--p-alfa: unknown flag; did you mean --p_alpha?");
  const std::vector<Setting> settings{{"p_alfa", "3", "--p_alfa"}};
  EXPECT_THROW(resolve_config(settings), Error);
}

TEST(ResolveConfig, ChecksSettingsThatAreOverridden) {
  EXPECT_EQ(config_refusal("seed: one\n", {{"--seed", "1"}}), "x.yaml:1: seed: one is not an integer in plain decimal");
}

TEST(ResolveConfig, RefusesWhatIsNoPlainInteger) {
  for (const char* text : {"four", "4.0", "1e3", "1_000", "0x10", "+4", "010", " 4", "4 ", "", "--4", "true", "4,0"}) {
    EXPECT_NE(flag_refusal("--max_workers", text).find("is not an integer in plain decimal"), std::string::npos)
        << text;
  }
}

TEST(ResolveConfig, HoldsIntegersToTheirRanges) {
  for (const char* field : {"num_layers", "num_q_heads", "num_k_heads", "download_max_workers", "max_vector_width",
                            "num_pairs_per_bucket", "max_workers"}) {
    const std::string flag = std::string("--") + field;
    EXPECT_NE(flag_refusal(flag, "0").find(": 0 is out of range; it must lie between 1 and"), std::string::npos);
    EXPECT_EQ(flag_refusal(flag, "1"), "");
  }
  EXPECT_EQ(flag_refusal("--normality_max_dims", "0"), "");
  EXPECT_EQ(flag_refusal("--max_tokens_per_head", "-1"),
            "--max_tokens_per_head: -1 is out of range; it must lie between 0 and 2147483647");
  EXPECT_EQ(flag_refusal("--num_pairs_per_bucket", "99999999999999999999"),
            "--num_pairs_per_bucket: 99999999999999999999 is out of range; it must lie between 1 and 2147483647");
}

TEST(ResolveConfig, TakesAnyUnsignedSeed) {
  EXPECT_EQ(with_flags({{"--seed", "18446744073709551615"}}).analysis.seed, 18446744073709551615U);
  EXPECT_EQ(flag_refusal("--seed", "18446744073709551616"),
            "--seed: 18446744073709551616 is out of range; it must lie between 0 and 18446744073709551615");
  EXPECT_EQ(flag_refusal("--seed", "-1"), "--seed: -1 is out of range; it must lie between 0 and 18446744073709551615");
}

TEST(ResolveConfig, HoldsSharesToTheirRanges) {
  EXPECT_EQ(flag_refusal("--p_alpha", "2"), "--p_alpha: 2 is out of range; it must lie between 0 and 1 (exclusive)");
  EXPECT_NE(flag_refusal("--p_alpha", "1"), "");
  EXPECT_NE(flag_refusal("--p_alpha", "0"), "");
  EXPECT_NE(flag_refusal("--p_alpha", "1e-999"), "");
  EXPECT_EQ(with_flags({{"--p_alpha", "5e-2"}}).analysis.p_alpha, 0.05);
  EXPECT_EQ(with_flags({{"--max_relative_distance", "1"}}).analysis.max_relative_distance, 1);
  EXPECT_EQ(flag_refusal("--max_relative_distance", "1.01"),
            "--max_relative_distance: 1.01 is out of range; it must be greater than 0 and at most 1");
  EXPECT_NE(flag_refusal("--max_relative_distance", "-0.0"), "");
  EXPECT_EQ(flag_refusal("--p_alpha", "nan"), "--p_alpha: nan is not a finite number");
  EXPECT_EQ(flag_refusal("--p_alpha", "inf"), "--p_alpha: inf is not a finite number");
  EXPECT_EQ(flag_refusal("--p_alpha", "0.1x"), "--p_alpha: 0.1x is not a number");
  EXPECT_EQ(flag_refusal("--p_alpha", ""), "--p_alpha: '' is not a number");
  EXPECT_EQ(config_refusal("p_alpha: .nan\n"), "x.yaml:1: p_alpha: .nan is not a number");
}

TEST(ResolveConfig, TakesTheUsualWordsForBooleans) {
  for (const char* text : {"true", "True", "YES", "on", "1"}) {
    EXPECT_TRUE(with_flags({{"--standard_errors", text}}).analysis.standard_errors) << text;
  }
  for (const char* text : {"false", "FALSE", "no", "Off", "0"}) {
    EXPECT_FALSE(with_flags({{"--standard_errors", text}}).analysis.standard_errors) << text;
  }
  EXPECT_EQ(flag_refusal("--standard_errors", "2"), "--standard_errors: 2 is not a boolean; write true or false");
}

TEST(ResolveConfig, KnowsEveryWordOfTheEnumerations) {
  EXPECT_EQ(with_flags({{"--method", "positional"}}).analysis.method, Method::positional);
  EXPECT_EQ(with_flags({{"--method", "full"}}).analysis.method, Method::full);
  EXPECT_EQ(with_flags({{"--method", "diagonal"}}).analysis.method, Method::diagonal);
  EXPECT_EQ(with_flags({{"--sampler", "bucket"}}).analysis.sampler, Sampler::bucket);
  EXPECT_EQ(with_flags({{"--sampler", "local"}}).analysis.sampler, Sampler::local);
  EXPECT_EQ(with_flags({{"--weighting", "queries"}}).analysis.weighting, Weighting::queries);
  EXPECT_EQ(with_flags({{"--weighting", "pairs"}}).analysis.weighting, Weighting::pairs);
  EXPECT_EQ(with_flags({{"--weighting", "uniform"}}).analysis.weighting, Weighting::uniform);
  EXPECT_EQ(with_flags({{"--sliding_window_unit", "tokens"}}).analysis.sliding_window_unit, WindowUnit::tokens);
  EXPECT_EQ(with_flags({{"--sliding_window_unit", "buckets"}}).analysis.sliding_window_unit, WindowUnit::buckets);
  EXPECT_EQ(with_flags({{"--non_finite", "error"}}).non_finite, NonFinite::error);
  EXPECT_EQ(with_flags({{"--non_finite", "drop"}}).non_finite, NonFinite::drop);
  EXPECT_EQ(with_flags({{"--compat", "none"}}).compat, Compat::none);
  EXPECT_EQ(with_flags({{"--compat", "python"}}).compat, Compat::python);
  EXPECT_EQ(with_flags({{"--rope", "auto"}}).rope, Rope::automatic);
  EXPECT_EQ(with_flags({{"--rope", "none"}}).rope, Rope::none);
  EXPECT_EQ(with_flags({{"--rope-layout", "half"}}).rope_layout, RotaryLayout::half);
  EXPECT_EQ(with_flags({{"--rope-layout", "interleaved"}}).rope_layout, RotaryLayout::interleaved);
  EXPECT_EQ(with_flags({{"--vectors", "post"}}).analysis.vectors, Vectors::post);
  EXPECT_EQ(with_flags({{"--vectors", "pre"}}).analysis.vectors, Vectors::pre);
}

TEST(ResolveConfig, ReadsARotation) {
  const RunConfig config = resolved("rope_theta: 1e6\nrope_dim: 32\nrope_scaling: {rope_type: linear, factor: 8}\n");
  EXPECT_EQ(config.rope_theta, 1e6);
  EXPECT_EQ(config.rope_dim, 32);
  EXPECT_EQ(config.rope_scaling, R"({"rope_type":"linear","factor":8})");
  EXPECT_EQ(with_flags({{"--rope-scaling", "{ \"factor\" : 4 }"}}).rope_scaling, R"({"factor":4})");
  EXPECT_EQ(flag_refusal("--rope_theta", "0"), "--rope_theta: 0 is out of range; it must be greater than 0");
  EXPECT_EQ(flag_refusal("--rope_theta", "1e999"), "--rope_theta: 1e999 is out of range; it must be greater than 0");
  EXPECT_EQ(flag_refusal("--rope_theta", "inf"), "--rope_theta: inf is not a finite number");
  EXPECT_EQ(flag_refusal("--rope_theta", "big"), "--rope_theta: big is not a number");
  EXPECT_EQ(flag_refusal("--rope_scaling", "linear"),
            "--rope_scaling: linear is not a JSON object such as {\"rope_type\": \"linear\", \"factor\": 4}");
  EXPECT_NE(flag_refusal("--rope_scaling", "[1]"), "");
  EXPECT_NE(flag_refusal("--rope_scaling", "{\"a\": " + std::string(50'000, '[') + std::string(50'000, ']') + "}"), "");
  EXPECT_NE(flag_refusal("--rope_dim", "1"), "");
}

TEST(ResolveConfig, ListsTheWordsAndSuggestsTheNearest) {
  EXPECT_EQ(config_refusal("method: ful\n"),
            "x.yaml:1: method: ful is not one of positional, full, diagonal; did you mean full?");
  EXPECT_EQ(flag_refusal("--method", "gaussian"), "--method: gaussian is not one of positional, full, diagonal");
  EXPECT_EQ(flag_refusal("--compat", "Python"), "--compat: Python is not one of none, python; did you mean python?");
}

TEST(ResolveConfig, ReadsSelectionsOfIndices) {
  using Indices = std::vector<int>;
  EXPECT_EQ(with_flags({{"--layers", "0-3,7"}}).layers, (Indices{0, 1, 2, 3, 7}));
  EXPECT_EQ(with_flags({{"--layers", "7, 5 - 6"}}).layers, (Indices{5, 6, 7}));
  EXPECT_EQ(with_flags({{"--layers", "1-3,2-4,3"}}).layers, (Indices{1, 2, 3, 4}));
  EXPECT_EQ(with_flags({{"--q-heads", "9999"}}).q_heads, (Indices{9999}));
  EXPECT_EQ(with_flags({{"--layers", "all"}}).layers, std::nullopt);
  EXPECT_EQ(resolved("layers: 7\n").layers, (Indices{7}));
  EXPECT_EQ(resolved("layers: 0-3,7\n").layers, (Indices{0, 1, 2, 3, 7}));
  EXPECT_EQ(resolved("layers: [4, 0-2, \"8-9\"]\n").layers, (Indices{0, 1, 2, 4, 8, 9}));
  EXPECT_EQ(resolved("q_heads:\n  - 1\n  - 3\n").q_heads, (Indices{1, 3}));
}

TEST(ResolveConfig, RefusesBrokenSelections) {
  EXPECT_EQ(flag_refusal("--layers", "5-3"), "--layers: 5-3 is reversed; write 3-5");
  EXPECT_EQ(flag_refusal("--layers", "x"), "--layers: x is neither an index nor a range such as 0-3");
  for (const char* text : {"-1", "1-", "-", "1--2", "1,,2", ",", "1,", "1.5", "1-2-3", "0-01", "1 2"}) {
    EXPECT_NE(flag_refusal("--layers", text).find("is neither an index nor a range"), std::string::npos) << text;
  }
  EXPECT_EQ(flag_refusal("--layers", "0-2000000000"),
            "--layers: 2000000000 is out of range; it must lie between 0 and 9999");
  EXPECT_EQ(config_refusal("layers: []\n"), "x.yaml:1: layers: selects nothing; leave it out to select all");
  EXPECT_EQ(config_refusal("layers: ['', 1]\n"), "x.yaml:1: layers: '' is neither an index nor a range such as 0-3");
  EXPECT_EQ(config_refusal("layers: [1, [2]]\n"),
            "x.yaml:1: layers: takes a list of integers and ranges such as [0-3, 7]");
  EXPECT_EQ(config_refusal("layers: {a: 1}\n"),
            "x.yaml:1: layers: is a mapping; it takes indices and ranges such as 0-3,7");
}

TEST(ResolveConfig, RefusesSelectionsThatTheGivenSizesDoNotHave) {
  EXPECT_EQ(config_refusal("num_layers: 30\nlayers: 0-40\n"),
            "x.yaml:2: layers: 40 is out of range; the model has 30 layers, 0 to 29");
  EXPECT_EQ(config_refusal("num_q_heads: 9\n", {{"--q-heads", "9"}}),
            "--q-heads: 9 is out of range; the model has 9 query heads, 0 to 8");
  EXPECT_EQ(config_refusal("num_layers: 30\nlayers: 29\nnum_q_heads: 9\nq_heads: 8\n"), "");
}

TEST(CheckSelection, RefusesInTheSameWordsOnceTheSizesAreKnown) {
  const RunConfig config = resolved("layers: 29\nq_heads: 8\n");
  EXPECT_NO_THROW(check_selection(config, 30, 9));
  EXPECT_NO_THROW(check_selection(RunConfig{}, 1, 1));
  try {
    check_selection(config, 29, 9);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_STREQ(error.what(), "`layers`: 29 is out of range; the model has 29 layers, 0 to 28");
  }
  EXPECT_THROW(check_selection(config, 30, 8), Error);
}

TEST(ResolveConfig, ReadsSizes) {
  const auto bytes = [](const char* text) { return with_flags({{"--memory_limit", text}}).memory_limit; };
  EXPECT_EQ(bytes("1"), 1U);
  EXPECT_EQ(bytes("8589934592"), 8589934592U);
  EXPECT_EQ(bytes("800MiB"), 800U << 20U);
  EXPECT_EQ(bytes("8GiB"), std::uint64_t{8} << 30U);
  EXPECT_EQ(bytes("8 gib"), std::uint64_t{8} << 30U);
  EXPECT_EQ(bytes("1.5GiB"), 1610612736U);
  EXPECT_EQ(bytes("3KiB"), 3072U);
  EXPECT_EQ(bytes("3KB"), 3000U);
  EXPECT_EQ(bytes("1.29KB"), 1290U);
  EXPECT_EQ(bytes("0.0157MB"), 15700U);  // in double the product is slightly less
  EXPECT_EQ(bytes("2MB"), 2000000U);
  EXPECT_EQ(bytes("2GB"), 2000000000U);
  EXPECT_EQ(bytes("9223372036854775807"), 9223372036854775807U);
  EXPECT_EQ(resolved("memory_limit: 8GiB\n").memory_limit, std::uint64_t{8} << 30U);
  EXPECT_EQ(resolved("memory_limit: \"8GiB\"\n").memory_limit, std::uint64_t{8} << 30U);
}

TEST(ResolveConfig, RefusesWhatIsNoSize) {
  const std::string range = " is out of range; it must lie between 1 and 9223372036854775807 bytes";
  for (const char* text : {"0", "0GiB", "-5", "-1GiB", "0.0001KB", "9223372036854775808", "8388608TiB",
                           "8388607.99999999999999999TiB", "99999999999999999999"}) {
    EXPECT_EQ(flag_refusal("--memory_limit", text), std::string("--memory_limit: ") + text + range);
  }
  for (const char* text : {"", "GiB", "8G", "8GiBs", "1.GiB", ".5GiB", "1.5", "1e9", "8_000", "nan", "1..5GiB", "+1"}) {
    EXPECT_NE(flag_refusal("--memory_limit", text).find("is not a size; write bytes, or a number with KiB"),
              std::string::npos)
        << text;
  }
}

TEST(ResolveConfig, RefusesQueryHeadsThatDoNotGroup) {
  EXPECT_EQ(config_refusal("num_q_heads: 9\nnum_k_heads: 4\n"),
            "x.yaml:1: num_q_heads: 9 is not a multiple of num_k_heads, 4 (x.yaml:2)");
  EXPECT_EQ(config_refusal("num_q_heads: 9\n", {{"--num-k-heads", "3"}}), "");
  EXPECT_EQ(config_refusal("num_k_heads: 4\n"), "");
}

TEST(ResolveConfig, RefusesEmptyAndUnwritableText) {
  for (const char* field : {"dataset_name", "dataset_revision", "dataset_local_root", "dataset_cache_dir", "output_dir",
                            "output_csv", "bucket_csv", "component_csv", "time_csv"}) {
    const std::string flag = std::string("--") + field;
    EXPECT_EQ(flag_refusal(flag, ""), flag + ": must not be empty");
  }
  EXPECT_EQ(flag_refusal("--model_dir", ""), "");
  EXPECT_EQ(flag_refusal("--model_dir", "a\xff"), "--model_dir: a\\xff is not UTF-8 text");
  EXPECT_EQ(flag_refusal("--model_dir", std::string("a\0b", 3)), "--model_dir: a\\x00b has a NUL character in it");
  EXPECT_EQ(flag_refusal("--output_csv", "out/"), "--output_csv: out/ names a folder, not a file");
  EXPECT_EQ(flag_refusal("--output_csv", "out/.."), "--output_csv: out/.. names a folder, not a file");
}

TEST(ResolveConfig, KeepsEveryMessageOnOneShortLine) {
  const std::string message = flag_refusal("--seed", "a\nb\t" + std::string(100000, 'x'));
  EXPECT_EQ(message.substr(0, 18), "--seed: a\\nb\\x09xx");
  EXPECT_LT(message.size(), 200U);
}

TEST(PythonCompat, SetsWhatTheToolkitDoes) {
  const RunConfig config = resolved("compat: python\n");
  EXPECT_EQ(config.analysis.method, Method::diagonal);
  EXPECT_EQ(config.analysis.sampler, Sampler::bucket);
  EXPECT_EQ(config.analysis.weighting, Weighting::uniform);
  EXPECT_EQ(config.analysis.sliding_window_unit, WindowUnit::buckets);
  EXPECT_FALSE(config.analysis.standard_errors);
  EXPECT_EQ(config.tables[TableId::time], "");
  EXPECT_EQ(config.tables[TableId::distance], "");
  EXPECT_EQ(config.analysis.num_triples, 0U);
}

TEST(PythonCompat, RefusesContradictionsWhereverTheyStand) {
  EXPECT_EQ(config_refusal("compat: python\nmethod: full\n"),
            "x.yaml:2: method: full contradicts compat python (x.yaml:1), which means diagonal");
  EXPECT_EQ(config_refusal("standard_errors: yes\n", {{"--compat", "python"}}),
            "x.yaml:1: standard_errors: true contradicts compat python (--compat), which means false");
  EXPECT_EQ(config_refusal("compat: python\n", {{"--sampler", "local"}}),
            "--sampler: local contradicts compat python (x.yaml:1), which means bucket");
  EXPECT_NE(config_refusal("weighting: queries\ncompat: python\n"), "");
  EXPECT_NE(config_refusal("sliding_window_unit: tokens\ncompat: python\n"), "");
  EXPECT_EQ(config_refusal("compat: python\n", {{"--time-csv", "t.csv"}}),
            "--time-csv: contradicts compat python (x.yaml:1), which has no such file");
  EXPECT_EQ(config_refusal("compat: python\n", {{"--distance_csv", "d.csv"}}),
            "--distance_csv: contradicts compat python (x.yaml:1), which has no such file");
  EXPECT_EQ(config_refusal("compat: python\n", {{"--num_triples", "10"}}),
            "--num_triples: 10 contradicts compat python (x.yaml:1), which means 0");
}

TEST(PythonCompat, TakesEqualAndUnsetFields) {
  EXPECT_EQ(config_refusal("method: diagonal\nsampler: bucket\nweighting: uniform\nsliding_window_unit: buckets\n"
                           "standard_errors: off\ntime_csv: null\ncompat: python\n"),
            "");
  EXPECT_EQ(resolved("method: full\ncompat: python\n", {{"--method", "null"}}).analysis.method, Method::diagonal);
  EXPECT_EQ(resolved("method: full\ncompat: python\n", {{"--compat", "none"}}).analysis.method, Method::full);
  EXPECT_EQ(resolved("compat: python\n", {{"--compat", "null"}}).analysis.method, Method::positional);
}

TEST(Outputs, MoveBelowTheOutputFolderWhereRelative) {
  const RunConfig config = resolved("output_dir: out/x\nbucket_csv: /tmp/b.csv\ncomponent_csv: sub/c.csv\n");
  EXPECT_EQ(config.tables[TableId::metrics], "out/x/head_metrics.csv");
  EXPECT_EQ(config.tables[TableId::buckets], "/tmp/b.csv");
  EXPECT_EQ(config.tables[TableId::components], "out/x/sub/c.csv");
  EXPECT_EQ(config.tables[TableId::time], "out/x/head_time_plasticity.csv");
  EXPECT_EQ(config.tables[TableId::distance], "out/x/head_distance_plasticity.csv");
  EXPECT_EQ(run_json_path(config), "out/x/run.json");
  EXPECT_EQ(run_json_path(RunConfig{}), "run.json");
  EXPECT_EQ(resolved("output_dir: out/\n").tables[TableId::metrics], "out/head_metrics.csv");
}

TEST(Outputs, WithoutAPathOfTheirOwnStandBesideTheMetrics) {
  const RunConfig config = resolved("output_csv: results/a/m.csv\nbucket_csv: results/b.csv\ntime_csv: null\n");
  EXPECT_EQ(config.tables[TableId::metrics], "results/a/m.csv");
  EXPECT_EQ(config.tables[TableId::buckets], "results/b.csv");
  EXPECT_EQ(config.tables[TableId::components], "results/a/head_component_weights.csv");
  EXPECT_EQ(config.tables[TableId::time], "results/a/head_time_plasticity.csv");
  EXPECT_EQ(run_json_path(config), "results/a/run.json");
  const RunConfig moved = resolved("output_dir: out\noutput_csv: a/m.csv\n");
  EXPECT_EQ(moved.tables[TableId::groups], "out/a/head_groups.csv");
  EXPECT_EQ(resolved("output_dir: out\noutput_csv: /tmp/m.csv\n").tables[TableId::groups], "/tmp/head_groups.csv");
}

TEST(Outputs, RefuseToShareAPath) {
  EXPECT_EQ(config_refusal("output_dir: out\noutput_csv: a.csv\nbucket_csv: ./sub/../a.csv\n"),
            "x.yaml:3: bucket_csv: out/./sub/../a.csv is the path of output_csv (x.yaml:2) too; every output needs its "
            "own");
  EXPECT_EQ(flag_refusal("--output_csv", "head_time_plasticity.csv"),
            "--output_csv: head_time_plasticity.csv is the path of time_csv too; every output needs its own");
  EXPECT_EQ(flag_refusal("--distance_csv", "head_time_plasticity.csv"),
            "--distance_csv: head_time_plasticity.csv is the path of time_csv too; every output needs its own");
  EXPECT_EQ(flag_refusal("--output_csv", "a/run.json"),
            "--output_csv: a/run.json is the path of run.json too; every output needs its own");
  EXPECT_EQ(config_refusal("output_csv: a/m.csv\ncomponent_csv: a//run.json\n"),
            "x.yaml:2: component_csv: a//run.json is the path of run.json too; every output needs its own");
  EXPECT_NE(config_refusal("output_dir: /tmp/o\noutput_csv: a.csv\nbucket_csv: /tmp/o/a.csv\n"), "");
  EXPECT_EQ(config_refusal("compat: python\noutput_csv: head_time_plasticity.csv\n"), "");
}

}  // namespace
}  // namespace attention_plasticity

// README.md, CONTRIBUTING.md and docs/*.md hold: every command in them runs as it stands, and prints what the page
// shows. The tables below say what placeholders mean, what is no command, and which commands a test cannot run.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <set>
#include <sstream>

#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/hub/loopback_hub_testing.h"
#include "attention_plasticity/options/config_fields.h"
#include "attention_plasticity/results/csv.h"
#include "attention_plasticity/settings/yaml_settings.h"
#include "attention_plasticity/synth/synthetic_dump.h"
#include "markdown_blocks.h"
#include "places.h"
#include "program_support.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

const fs::path source = source_folder();

// Blocks that are neither commands nor settings, by their first line.
struct KnownText {
  std::string_view page;
  std::string_view first_line;
};
constexpr KnownText known_texts[]{
    {"docs/architecture.md", "model ─ capture ─┐"},           // a diagram
    {"docs/hub.md", "datasets--ORG--NAME/blobs/ETAG"},        // the files of the cache
    {"docs/object-stores.md", "s3://bucket/dump"},            // spellings of addresses
    {"docs/performance.md", "attention-plasticity 0.1.0 ("},  // printed by `make bench` on one machine
    {"docs/synthetic.md", "q = R(t) (m + b t + s_e + x)"},    // a formula
    {"docs/synthetic.md", "schema     1"},                    // the keys of truth.json
};

// Languages of fenced blocks that other tests hold, and which.
const std::map<std::string, std::string> held_elsewhere{
    {"cmake", "Install.ConsumerBuildsAndRuns, Install.FetchContentBuildsAndRuns"},
    {"cpp", "Install.ConsumerBuildsAndRuns"},
    {"python", "RandomAxes.AreThoseOfTheRecipeInNumPy; tests/python/test_docs.py; tests/capture/test_docs.py"},
};

// What a page takes for granted: commands that are run before its own.
const std::map<std::string, std::vector<std::string>> before{
    {"docs/formats.md", {"attention-plasticity analyze --config configs/example-minidoc-qwen3.yaml --quiet"}},
    {"docs/method.md",
     {"attention-plasticity analyze --config configs/example-smollm2-135m.yaml --quiet",
      "attention-plasticity analyze --config configs/example-minidoc-qwen3.yaml --quiet"}},
    {"README.md", {"attention-plasticity analyze --dataset_local_root DUMP --seed 1 -o out/tuned --quiet"}},
    // A plan wants all heads of a model.
    {"--help",
     {"ln -sfn examples/minidoc-qwen3 DUMP", "ln -sf examples/minidoc-qwen3/head_labels.csv head_labels.csv",
      "echo 'dataset_local_root: DUMP' > run.yaml",
      "attention-plasticity analyze --dataset_local_root DUMP --shard 2/2 -o out/shard-2 --quiet",
      "attention-plasticity analyze --dataset_local_root DUMP -o out/base --quiet",
      "cp -r out/base out/tuned && cp -r out/base out/step-100 && cp -r out/base out/step-200",
      "printf 'output_dir: out/sweep\nruns:\n- {name: a, dataset_local_root: DUMP}\n- {name: b, dataset_local_root: "
      "DUMP, seed: 1}\n' > sweep.yaml && attention-plasticity sweep sweep.yaml --quiet"}},
};

// Files and folders that pages name, as links to what they stand for. `configs`, `examples` and a copy of `results` are
// there as in the project's folder.
const std::map<std::string, fs::path> placeholders{
    {"DUMP", source / "examples" / "smollm2-135m"},
    {"head_labels.csv", source / "examples" / "smollm2-135m" / "head_labels.csv"},
    {"RESULTS", "results/smollm2-135m"},
};

// A small dump under the names of datasets that pages use. The model is taken to have `layers` layers, of which two are
// captured.
struct ServedDump {
  std::string repo;
  std::vector<std::string> branches;
  int layers;
  int q_heads;
  int k_heads;
};
const std::vector<ServedDump> served{
    {"ORG/NAME", {"main", "BRANCH"}, 4, 8, 2},
    {"viktoroo/sniffed-qk", {"qwen3-8b-longbench-pro-128k-plus"}, 36, 32, 8},  // as configs/qwen3-8b.yaml says
};

std::vector<std::string> pages() {
  std::vector<std::string> found{"CONTRIBUTING.md", "README.md"};
  for (const auto& entry : fs::directory_iterator(source / "docs")) {
    if (entry.path().extension() == ".md") found.push_back("docs/" + entry.path().filename().string());
  }
  std::ranges::sort(found);
  return found;
}

std::vector<std::string> words_of_command(const std::string& command) {
  return words_of(command.substr(0, command.find(" #")));
}

std::vector<std::string> parts_of(std::string command) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; (at = command.find(" && ")) != std::string::npos; command.erase(0, at + 4)) {
    parts.push_back(command.substr(0, at));
  }
  parts.push_back(command);
  return parts;
}

// Commands that build, install or measure the project itself would take this test along. Their targets, presets and
// scripts must exist. None: not such a command.
std::optional<std::string> fault_of_build_command(const std::string& command) {
  const std::vector<std::string> words = words_of_command(command);
  const auto holds = [](const fs::path& file, const std::string& text) {
    return read_text_file(file).find(text) != std::string::npos;
  };
  if (words.size() == 2 && words[0] == "make") {
    return holds(source / "Makefile", "\n" + words[1] + ":") ? "" : "no such target of make";
  }
  if (words[0] == "cmake" || words[0] == "ctest") {
    const auto preset = std::ranges::find(words, "--preset");
    if (preset == words.end()) return words.size() > 1 && words[1] == "--install" ? "" : "cmake without a preset";
    const std::string kind = words[0] == "ctest" ? "testPresets" : "configurePresets";
    const auto all = nlohmann::json::parse(read_text_file(source / "CMakePresets.json"));
    const bool known = std::ranges::any_of(
        all[kind], [&](const auto& entry) { return preset + 1 != words.end() && entry["name"] == *(preset + 1); });
    return known ? "" : "no such preset";
  }
  if (words[0].starts_with("tools/")) return fs::exists(source / words[0]) ? "" : "no such script";
  return std::nullopt;
}

bool is_command(const std::string& line) {
  static const std::set<std::string> programs{
      "attention-plasticity", "build/release/attention-plasticity", "echo", "source", "for", "sbatch", "seq"};
  const std::vector<std::string> words = words_of_command(line.starts_with("$ ") ? line.substr(2) : line);
  return !words.empty() && (programs.contains(words[0]) || fault_of_build_command(parts_of(line)[0]).has_value());
}

// Programs that pages use and that tests do not have, as plain processes: GNU parallel with one replacement in its
// command, and Slurm's sbatch for an array of tasks from 1 on.
const std::map<std::string, std::string> stand_ins{
    {"parallel", "#!/bin/bash\nexec xargs -P 2 -I{} \"$@\"\n"},
    {"sbatch",
     "#!/bin/bash\nscript=${@: -1}\nlast=$(sed -n 's/^#SBATCH --array=1-//p' \"$script\")\n"
     "for i in $(seq \"$last\"); do SLURM_ARRAY_TASK_ID=$i bash \"$script\" || exit 1; done\n"},
};

// What Ray does is held by tests/ray; here such a command is read, and its run prepared.
std::string without_ray(const std::string& command) {
  return command + (command.find("--engine ray") == std::string::npos ? "" : " --dry-run");
}

// A folder in which the commands of pages and of the help can run, and a Hub for them.
class DocsFolder : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"configs", "examples"}) fs::create_symlink(source / name, here_ / name);
    fs::copy(source / "results", here_ / "results", fs::copy_options::recursive);
    for (const auto& [name, target] : placeholders) fs::create_symlink(target, here_ / name);
    for (const char* folder : {"bin", "build/release"}) {
      fs::create_directories(here_ / folder);
      fs::create_symlink(built_program(), here_ / folder / "attention-plasticity");
    }
    for (const auto& [name, script] : stand_ins) {
      write_bytes(here_ / "bin" / name, script);
      fs::permissions(here_ / "bin" / name, fs::perms::owner_all);
    }
  }

  /// Runs what `text` takes for granted, by the name of its page. The Hub is filled if the text names a dataset.
  void prepare(const std::string& page, const std::string& text) {
    if (text.find("ORG/NAME") != std::string::npos) fill_hub();
    const auto commands = before.find(page);
    if (commands == before.end()) return;
    for (const std::string& command : commands->second) {
      const Outcome outcome = shell(command);
      ASSERT_EQ(outcome.code, 0) << command << "\n" << outcome.err;
    }
  }

  void fill_hub() {
    for (const ServedDump& dump : served) {
      const TemporaryFolder folder;
      SynthOptions options;
      options.q_heads = dump.q_heads;
      options.k_heads = dump.k_heads;
      options.rows = 60;
      options.dim = 8;
      options.examples = 3;
      options.buckets = 4;
      options.bucket_size = 16;
      options.truth_pairs = 0;
      write_synthetic_dump(folder / "dump", options);
      std::string config = read_text_file(folder / "dump" / "config.json");
      config = std::regex_replace(config, std::regex("\"num_hidden_layers\": 2"),
                                  fmt::format("\"num_hidden_layers\": {}", dump.layers));
      write_bytes(folder / "dump" / "config.json", config);
      for (const auto& entry : fs::recursive_directory_iterator(folder / "dump")) {
        if (!entry.is_regular_file()) continue;
        const std::string path = entry.path().lexically_relative(folder / "dump").generic_string();
        for (const std::string& branch : dump.branches) {
          hub_.add_file(dump.repo, branch, path, read_bytes(entry.path()), path.ends_with(".parquet"));
        }
      }
    }
  }

  Outcome shell(const std::string& command) {
    Surroundings surroundings;
    surroundings.folder = here_.path();
    surroundings.program = "/bin/bash";
    const std::string path = std::getenv("PATH") == nullptr ? "/usr/bin:/bin" : std::getenv("PATH");
    surroundings.environment = {
        fmt::format("PATH={}:{}", (here_ / "bin").string(), path), fmt::format("HF_ENDPOINT={}", hub_.endpoint()),
        fmt::format("HF_HOME={}", (here_ / "home").string()), "HF_HUB_CACHE=", "HF_TOKEN=", "HF_HUB_OFFLINE=",
        // capture, study and evaluate read their flags; Python's part is held by tests/capture.
        "ATTENTION_PLASTICITY_PYTHON=/bin/true", "no_proxy=127.0.0.1,127.0.0.2"};
    return run_program({"-c", command}, surroundings);
  }

  void check_yaml(const MarkdownBlock& block) const {
    std::string text;
    for (const std::string& line : block.lines) text += line + "\n";
    const bool is_sweep = text.find("\nruns:\n") != std::string::npos;  // held by the commands that read it
    if (!is_sweep) {
      EXPECT_NO_THROW(resolve_config(parse_yaml_settings(text, "page", config_fields()))) << text;
    }
    // A first line such as `# run.yaml` names the file for the commands below.
    if (block.lines[0].starts_with("# ") && block.lines[0].ends_with(".yaml")) {
      write_bytes(here_ / block.lines[0].substr(2), text);
    }
  }

  /// A script begins with #! and its name, and is run by commands below it.
  void write_script(const MarkdownBlock& block) const {
    ASSERT_GE(block.lines.size(), 2U);
    ASSERT_TRUE(block.lines[0].starts_with("#!") && block.lines[1].starts_with("# ")) << block.lines[0];
    std::string text;
    for (const std::string& line : block.lines) text += line + "\n";
    write_bytes(here_ / block.lines[1].substr(2), text);
  }

  void check_command(const ShownCommand& command) {
    std::vector<std::string> faults;
    for (const std::string& part : parts_of(command.text)) {
      if (const auto fault = fault_of_build_command(part)) faults.push_back(*fault);
    }
    if (!faults.empty()) {
      for (const std::string& fault : faults) EXPECT_EQ(fault, "") << command.text;
      return;
    }
    const Outcome outcome = shell(without_ray(command.text));
    const bool fails = !command.output.empty() && command.output[0].starts_with("attention-plasticity: ");
    EXPECT_EQ(outcome.code != 0, fails) << command.text << "\n" << outcome.err;
    if (command.shows_output) expect_shown(command, outcome);
  }

  /// A page shows standard output, or standard error before it. Progress and notes may be left out.
  static void expect_shown(const ShownCommand& command, const Outcome& outcome) {
    std::string closest;
    for (const std::string& text : {outcome.out, outcome.err + outcome.out}) {
      std::vector<std::string> actual = lines_of(text);
      while (!actual.empty() && actual.back().empty()) actual.pop_back();
      if (std::ranges::equal(command.output, actual, same_shown_line)) return;
      closest = text;
    }
    ADD_FAILURE() << command.text << "\nprints:\n" << closest;
  }

  const TemporaryFolder here_;

 private:
  LoopbackHub hub_;
};

// synthetic.md says how far the measured plasticity of its dump may lie from the truth.
void expect_truth_within_two_errors(const fs::path& dump, const fs::path& results) {
  const auto truth = nlohmann::json::parse(read_text_file(dump / "truth.json"));
  const CsvTable metrics = read_csv(results / "head_metrics.csv");
  ASSERT_EQ(metrics.rows.size(), truth["heads"].size());
  ASSERT_EQ(metrics.rows.size(), 4U);
  const auto index_of = [&](const std::string& column) {
    const auto index = metrics.find(column);
    EXPECT_TRUE(index) << column;
    return index.value_or(0);
  };
  for (std::size_t row = 0; row < metrics.rows.size(); ++row) {
    for (const auto& [column, key] : {std::pair("ap_overall", "plasticity"), std::pair("ap_exact", "exact")}) {
      const auto& known = truth["heads"][row][key];
      const double value = metrics.number(row, index_of(column));
      const double error = metrics.number(row, index_of(std::string(column) + "_se"));
      EXPECT_LT(known["error"].get<double>(), 0.7 * error) << column;
      EXPECT_NEAR(value, known["value"].get<double>(), 2 * std::hypot(error, known["error"].get<double>()))
          << column << " of head " << row;
    }
  }
}

class Docs : public DocsFolder, public testing::WithParamInterface<std::string> {};

TEST_P(Docs, Hold) {
  const std::string page = read_text_file(source / GetParam());
  ASSERT_NO_FATAL_FAILURE(prepare(GetParam(), page));
  for (const MarkdownBlock& block : markdown_blocks(page)) {
    SCOPED_TRACE(fmt::format("{}:{}", GetParam(), block.line));
    ASSERT_FALSE(block.lines.empty());
    const bool is_known_text = std::ranges::any_of(known_texts, [&](const KnownText& text) {
      return text.page == GetParam() && block.lines[0].starts_with(text.first_line);
    });
    if (is_known_text || held_elsewhere.contains(block.language)) continue;
    if (block.language == "yaml") {
      check_yaml(block);
    } else if (block.language == "bash") {
      write_script(block);
    } else if ((block.language.empty() || block.language == "sh") && is_command(block.lines[0])) {
      for (const ShownCommand& command : shown_commands(block)) check_command(command);
    } else {
      ADD_FAILURE() << "a block that this test does not know: " << block.lines[0];
    }
  }
  if (GetParam() == "docs/synthetic.md")
    expect_truth_within_two_errors(here_ / "out/drift", here_ / "out/drift-results");
  if (GetParam() == "docs/large-runs.md") {
    // However the run of the page was split, its tables are the same.
    for (const char* table : {"head_metrics.csv", "head_groups.csv"}) {
      const std::string one = read_bytes(here_ / "out/large" / table);
      for (const char* split : {"out/merged", "out/sixteen", "out/array"}) {
        EXPECT_TRUE(read_bytes(here_ / split / table) == one) << split << "/" << table;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Pages, Docs, testing::ValuesIn(pages()), [](const testing::TestParamInfo<std::string>& page) {
  return std::regex_replace(page.param, std::regex("[^A-Za-z0-9]"), "_");
});

// The names of the subcommands, from the overview.
std::vector<std::string> subcommand_names(const std::string& overview) {
  std::vector<std::string> names;
  for (const std::string& line : lines_of(overview)) {
    if (line.starts_with("  ") && line[2] >= 'a' && line[2] <= 'z') names.push_back(words_of(line)[0]);
  }
  return names;
}

TEST_F(DocsFolder, ExamplesOfTheHelpRun) {
  const std::vector<std::string> names = subcommand_names(shell("attention-plasticity --help").out);
  ASSERT_GE(names.size(), 10U);
  ASSERT_NO_FATAL_FAILURE(prepare("--help", "ORG/NAME"));
  for (const std::string& name : names) {
    const std::vector<std::string> lines = lines_of(shell(fmt::format("attention-plasticity {} --help", name)).out);
    const auto heading = std::ranges::find(lines, "Examples:");
    std::size_t examples = 0;
    for (auto line = heading; line != lines.end(); ++line) {
      if (!line->starts_with("    ")) continue;
      ++examples;
      const bool needs_man = line->find("| man ") != std::string::npos;
      if (needs_man && shell("command -v man").code != 0) continue;
      const Outcome outcome = shell(without_ray(*line));
      EXPECT_EQ(outcome.code, 0) << *line << "\n" << outcome.err;
    }
    EXPECT_GE(examples, 1U) << name;
  }
}

// Flags in the text of pages, also those of other programs that pages speak of.
TEST_F(DocsFolder, FlagsInTheTextExist) {
  std::set<std::string> known{"--help",   "--version", "--build",  "--install",  "--prefix",    "--preset",
                              "--rounds", "--dumps",   "--update", "--no_numpy", "--no_stages", "--benchmark_filter",
                              "--array",  "--head",    "--bench",  "--requeue",  "--wait",      "--cpus_per_task"};
  const std::regex flag("--[a-z][a-z_-]*[a-z]");
  const auto flags_in = [&](const std::string& text) {
    std::set<std::string> found;
    for (std::sregex_iterator match(text.begin(), text.end(), flag), end; match != end; ++match) {
      std::string name = match->str();
      std::replace(name.begin() + 2, name.end(), '-', '_');
      found.insert(name);
    }
    return found;
  };
  for (const std::string& name : subcommand_names(shell("attention-plasticity --help").out)) {
    known.merge(flags_in(shell(fmt::format("attention-plasticity {} --help", name)).out));
  }
  for (const std::string& page : pages()) {
    for (const std::string& name : flags_in(read_text_file(source / page))) {
      const std::string positive = name.starts_with("--no_") ? "--" + name.substr(5) : name;
      EXPECT_TRUE(known.contains(name) || known.contains(positive)) << page << ": " << name;
    }
  }
}

TEST(MarkdownBlocks, AreIndentedOrFenced) {
  const auto blocks = markdown_blocks(
      "Text:\n\n    one\n    two\n\n      three\n\nText\n    that goes on\n\n```sh\na\n\n    b\n```\n\n* item\n\n    "
      "of the item\n\nText\n\n    four\n");
  ASSERT_EQ(blocks.size(), 3U);
  EXPECT_EQ(blocks[0].lines, (std::vector<std::string>{"one", "two", "", "  three"}));
  EXPECT_EQ(blocks[0].line, 3U);
  EXPECT_EQ(blocks[1].language, "sh");
  EXPECT_EQ(blocks[1].lines, (std::vector<std::string>{"a", "", "    b"}));
  EXPECT_EQ(blocks[1].line, 12U);
  EXPECT_EQ(blocks[2].lines, std::vector<std::string>{"four"});
}

TEST(MarkdownBlocks, ShowCommandsAndTheirOutput) {
  const auto plain = shown_commands({"", 1, {"a 1", "b \\", "  2", "", "c"}});
  ASSERT_EQ(plain.size(), 3U);
  EXPECT_EQ(plain[1].text, "b \\\n  2");
  EXPECT_FALSE(plain[1].shows_output);
  const auto with_output = shown_commands({"", 1, {"$ a", "1", "", "2", "", "$ b"}});
  ASSERT_EQ(with_output.size(), 2U);
  EXPECT_EQ(with_output[0].output, (std::vector<std::string>{"1", "", "2"}));
  EXPECT_TRUE(with_output[1].shows_output);
  EXPECT_TRUE(with_output[1].output.empty());
}

TEST(MarkdownBlocks, ComparesNumbersToTheirShownDigits) {
  EXPECT_TRUE(same_shown_line("mean  0.4959", "mean 0.4960"));
  EXPECT_FALSE(same_shown_line("mean  0.4959", "mean 0.4961"));
  EXPECT_FALSE(same_shown_line("mean 0.4959", "mean 0.496"));
  EXPECT_TRUE(same_shown_line("[-0.65, +0.05]", "[-0.64, +0.05]"));
  EXPECT_FALSE(same_shown_line("40 heads", "41 heads"));
  EXPECT_FALSE(same_shown_line("a b", "a"));
  EXPECT_FALSE(same_shown_line("46.7% of", "46.7 of"));
  EXPECT_TRUE(same_shown_line("1.2e-05", "1.3e-05"));
}

}  // namespace
}  // namespace attention_plasticity

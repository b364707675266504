#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "attention_plasticity/capture/capture_settings.h"
#include "attention_plasticity/capture/gguf_magic.h"
#include "attention_plasticity/cli/commands.h"
#include "attention_plasticity/cli/model_flags.h"
#include "attention_plasticity/cli/native_capture.h"
#include "attention_plasticity/cli/python.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/settings/field.h"

// capture, study and evaluate run a model. GGUF files are run by libllama, where it was built in
// (cli/native_capture.h); all else, and evaluate, is Python's work. The program reads the flags, as it does for every
// subcommand, and then becomes the Python that has started it: `python -m attention_plasticity._transformers capture
// model=org/name batch_size:=4`. Each value that was given is a word: name=TEXT, or name:=JSON.

namespace attention_plasticity {
namespace {

struct EvaluationFlags {
  std::optional<std::string> plan;
  std::optional<std::string> results;
  std::optional<std::string> labels;
  std::vector<std::string> rankings;
  std::optional<std::string> shares;
  std::optional<std::uint64_t> random_seeds;
  std::optional<std::string> group;
  std::optional<std::uint64_t> window;
  std::optional<std::uint64_t> sinks;
  std::optional<std::uint64_t> max_length;
};

const FieldTable<EvaluationFlags>& evaluation_table() {
  using Flags = EvaluationFlags;
  static const FieldTable<Flags> table{
      {"plan", values::any_text(), &Flags::plan, "A plan to price, as `plan` writes it in json.", "none"},
      {"results", values::any_text(), &Flags::results,
       "The folder of a run, whose measures rank heads by a column of --rankings.", "none"},
      {"labels", values::any_text(), &Flags::labels, "Labels of heads, whose columns rank heads too.", "none"},
      {"rankings", values::names(), &Flags::rankings,
       "What ranks the KV heads of each curve: columns of --results and --labels, random. A minus before a column: the "
       "heads with the lowest values keep their cache.",
       "ap_exact,random with --results, otherwise none"},
      {"shares", values::any_text("LIST"), &Flags::shares, "Shares of the KV heads that keep their whole cache.",
       "0.25,0.5,0.75"},
      {"random_seeds", values::count(), &Flags::random_seeds, "How many random rankings there are, of seeds from 0.",
       "3"},
      {"group", values::any_text("max|mean"), &Flags::group,
       "How the scores of query heads become that of their KV head.", "that of plan"},
      {"window", values::count(), &Flags::window, "Last tokens that a head without its whole cache keeps.",
       "that of the plan"},
      {"sinks", values::integer(0, 1'000'000'000), &Flags::sinks, "First tokens that it keeps.", "that of the plan"},
      {"max_length", values::count(2), &Flags::max_length, "Longest document in tokens.",
       "4096, or the model's limit if that is less"},
  };
  return table;
}

constexpr const char* dump_help = "Folder that the dump is written to.";
constexpr const char* study_help = "Folder for dump, tables, labels and report.";
constexpr const char* evaluation_help = "Write the losses here as well, as JSON.";

// The tables of a command one after the other, each with its heading.
template <class Options>
void append(std::vector<Field>& fields, const FieldTable<Options>& table, const std::string& group) {
  for (Field field : descriptions(table)) {
    field.group = group;
    fields.push_back(std::move(field));
  }
}

std::vector<Field> capture_fields(const std::string& output, bool may_label) {
  std::vector<Field> fields;
  append(fields, model_table(), "The model");
  append(fields, native_table(), "The model");
  append(fields, text_table(), "The texts");
  append(fields, capture_table(), "What is captured");
  if (may_label) append(fields, label_table(), "What is captured");
  if (!may_label) append(fields, study_table(), "What is captured");
  append(fields, output_table(output, ""), "The output");
  return fields;
}

std::vector<Field> evaluation_fields() {
  std::vector<Field> fields;
  append(fields, model_table(), "The model");
  append(fields, text_table(), "The texts");
  append(fields, evaluation_table(), "The plans");
  append(fields, output_table(evaluation_help, "none"), "The output");
  return fields;
}

// The beginning of the sentence that says what a command needs.
std::string what_takes(const std::string& command, bool is_gguf) {
  if (is_gguf && command == "evaluate") {
    return "evaluate hides keys from single KV heads, which libllama cannot do; it takes";
  }
  if (!is_gguf || has_native_capture()) return fmt::format("{} runs a model, which takes", command);
  return fmt::format("{} of a GGUF file takes a program with libllama, which `make capture` builds, or", command);
}

// Becomes Python, or says how to get it. Returns never.
[[noreturn]] void become_python(const std::string& command, const Arguments& arguments,
                                const std::vector<std::string>& words) {
  const bool is_gguf = names_gguf_file(arguments.value("model").value_or(""));
  const std::string python = python_of_package(what_takes(command, is_gguf), "capture");
  std::vector<std::string> all{python, "-m", "attention_plasticity._transformers", command};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> argv;
  argv.reserve(all.size() + 1);
  for (std::string& word : all) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(python.c_str(), argv.data());
  throw Error(ErrorKind::input, fmt::format("cannot be started: {}", std::strerror(errno)), python);
}

void require(const Arguments& arguments, std::string_view flag, std::string_view command, std::string_view what) {
  if (arguments.value(flag)) return;
  throw Error(ErrorKind::usage, fmt::format("{} needs --{}: {}", command, flag, what));
}

void require_model_and_texts(const Arguments& arguments, const std::string& command) {
  arguments.refuse_positionals(fmt::format("{} takes flags only", command));
  require(arguments, "model", command, "the name of a model on the Hub, a folder, or a GGUF file");
  require(arguments, "texts", command, "a file or folder of texts, or the word sample");
}

// Adds the values that were given of the fields of the table. Flags of other tables are left out.
template <class Options>
void add_words(std::vector<std::string>& words, const FieldTable<Options>& table, const Arguments& arguments) {
  std::vector<Setting> own;
  for (const Setting& flag : arguments.flags) {
    if (find_field(table, flag.field) != nullptr) own.push_back(flag);
  }
  const SettingMap given = last_settings(table, own);
  for (const FieldValue& value : field_values(table, with_settings(table, given))) {
    if (!given.contains(value.name) || !value.text) continue;
    words.push_back(fmt::format("{}{}{}", value.name, value.is_text() ? "=" : ":=", *value.text));
  }
}

std::vector<std::string> model_and_texts(const Arguments& arguments) {
  std::vector<std::string> words;
  add_words(words, model_table(), arguments);
  add_words(words, text_table(), arguments);
  return words;
}

// Flags that say nothing to the way that is taken would be left out silently.
template <class Options>
void refuse_flags(const FieldTable<Options>& table, const Arguments& arguments, std::string_view why) {
  for (const TypedField<Options>& field : table) {
    if (field.name == "model" || field.name == "backend" || !arguments.value(field.name)) continue;
    throw Error(ErrorKind::usage, fmt::format("--{} {}", field.name, why));
  }
}

bool is_native(const Arguments& arguments) {
  switch (options_of(native_table(), arguments).backend) {
    case Backend::transformers:
      return false;
    case Backend::llama:
      if (has_native_capture()) return true;
      throw Error(ErrorKind::usage, "this program was built without libllama; `make capture` builds it in");
    case Backend::automatic:
      break;
  }
  return has_native_capture() && names_gguf_file(arguments.value("model").value_or(""));
}

int run_capturing(const std::string& command, const std::string& output, const Arguments& arguments) {
  require_model_and_texts(arguments, command);
  require(arguments, "output", command, "the folder to write to");
  if (is_native(arguments)) {
    refuse_flags(model_table(), arguments, "is for models of transformers, not for a GGUF file that libllama runs");
    if (arguments.value("text_split")) {
      throw Error(ErrorKind::usage, "--text_split is for datasets of the Hub, which take --backend transformers");
    }
    return command == "study" ? run_native_study(arguments) : run_native_capture(arguments);
  }
  refuse_flags(study_table(), arguments, "is for a GGUF file that libllama runs, not for models of transformers");
  refuse_flags(native_table(), arguments, "is for a GGUF file that libllama runs, not for models of transformers");
  std::vector<std::string> words = model_and_texts(arguments);
  add_words(words, capture_table(), arguments);
  add_words(words, label_table(), arguments);
  add_words(words, output_table(output, ""), arguments);
  become_python(command, arguments, words);
}

}  // namespace

Command capture_command() {
  return {"capture",
          "",
          "Run a model over texts and write a dump of its queries and keys.",
          capture_fields(dump_help, true),
          {{"attention-plasticity capture --model HuggingFaceTB/SmolLM2-135M --texts docs.jsonl -o out/dump",
            "Capture a model of the Hub; then analyse it with --dataset_local_root out/dump."},
           {"attention-plasticity capture --model ./mine --texts sample --max_length 1024 --layers 0-3 -o out/dump",
            "Some layers of a model on disk, with the texts that come with the package."},
           {"attention-plasticity capture --model model.gguf --texts docs.txt -o out/dump",
            "A GGUF file, without Python where the program has libllama."}}};
}

int run_capture(const Arguments& arguments) { return run_capturing("capture", dump_help, arguments); }

Command study_command() {
  return {"study",
          "",
          "Capture, label and analyse a model, and write its report.",
          capture_fields(study_help, false),
          {{"attention-plasticity study --model HuggingFaceTB/SmolLM2-135M --texts docs.jsonl -o out/mine",
            "From a model to its report."}}};
}

int run_study(const Arguments& arguments) { return run_capturing("study", study_help, arguments); }

Command evaluate_command() {
  return {"evaluate",
          "",
          "Measure the loss that a cache plan costs a model, beside other rankings of its heads (Python package).",
          evaluation_fields(),
          {{"attention-plasticity evaluate --model HuggingFaceTB/SmolLM2-135M --texts docs.jsonl --plan plan.json",
            "The loss with the plan, with everything kept and with everything cut."},
           {"attention-plasticity evaluate --model ./mine --texts sample --results out/mine --labels "
            "out/mine/head_labels.csv --rankings ap_exact,mean_distance,random",
            "Curves over the share of heads that keep their cache, for three rankings."}}};
}

int run_evaluate(const Arguments& arguments) {
  require_model_and_texts(arguments, "evaluate");
  if (!arguments.value("plan") && !arguments.value("results") && !arguments.value("rankings")) {
    throw Error(ErrorKind::usage,
                "evaluate needs --plan, a plan to price, or --results, a run whose columns rank heads");
  }
  std::vector<std::string> words = model_and_texts(arguments);
  add_words(words, evaluation_table(), arguments);
  add_words(words, output_table(evaluation_help, "none"), arguments);
  become_python("evaluate", arguments, words);
}

}  // namespace attention_plasticity

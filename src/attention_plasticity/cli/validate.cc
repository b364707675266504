#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "attention_plasticity/base/error.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/cli/commands.h"
#include "attention_plasticity/cli/terminal.h"
#include "attention_plasticity/run/config_value.h"
#include "attention_plasticity/study/validation.h"
#include "attention_plasticity/study/validation_report.h"

namespace attention_plasticity {
namespace {

constexpr std::uint64_t most_resamples = 1'000'000;

std::string needed(const Arguments& arguments, const char* flag, const char* what) {
  if (const auto value = arguments.value(flag)) return *value;
  throw Error(ErrorKind::usage, fmt::format("validate needs --{}: {}", flag, what));
}

// Puts the flag before what a setting is refused for.
template <typename Read>
void set(const Arguments& arguments, const char* flag, Read&& read) {
  const auto text = arguments.value(flag);
  if (!text) return;
  try {
    read(*text);
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("--{}: {}", flag, error.what()));
  }
}

std::vector<std::string> names_between_commas(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string name = text.substr(begin, end - begin);
    if (name.empty()) throw Error(ErrorKind::usage, fmt::format("{} holds an empty name", shown_text(text)));
    names.push_back(std::move(name));
    begin = end + 1;
  }
  return names;
}

ValidationOptions options_of(const Arguments& arguments) {
  ValidationOptions options;
  options.positive = arguments.value("positive");
  options.negative = arguments.value("negative");
  if (options.positive.has_value() != options.negative.has_value()) {
    throw Error(ErrorKind::usage,
                fmt::format("--{} needs --{} beside it: two kinds of heads are set against each other",
                            options.positive ? "positive" : "negative", options.positive ? "negative" : "positive"));
  }
  BootstrapOptions& bootstrap = options.bootstrap;
  set(arguments, "columns", [&](const std::string& text) { options.measures = names_between_commas(text); });
  set(arguments, "bootstrap", [&](const std::string& text) {
    bootstrap.resamples = static_cast<std::size_t>(config_integer(text, 0, most_resamples));
  });
  set(arguments, "confidence", [&](const std::string& text) { bootstrap.confidence = config_share(text, false); });
  set(arguments, "seed", [&](const std::string& text) {
    bootstrap.seed = config_integer(text, 0, std::numeric_limits<std::uint64_t>::max());
  });
  return options;
}

}  // namespace

Command validate_command() {
  return {"validate",
          "",
          "Set what was measured of heads against what is known of them: rank correlations and ROC areas.",
          {{"metrics", "FILE", "head_metrics.csv of a run, or the folder that holds it"},
           {"labels", "FILE", "what is known of heads: CSV, a matrix of KV heads, or JSON {\"layer-head\": [scores]}"},
           {"positive", "CONDITION", "heads that should lie above, such as induction>0.1; a comma means or"},
           {"negative", "CONDITION", "heads that should lie below, such as previous_token>0.25"},
           {"columns", "LIST", "columns of the metrics (default: ap_overall,ap_exact,logit_fixed,logit_spread)"},
           {"bootstrap", "N", "resamples behind an interval; 0: no intervals (default: 2000)"},
           {"confidence", "X", "of the intervals (default: 0.95)"},
           {"seed", "N", "seed of the resamples (default: 0)"},
           {"json", "", "print JSON instead of a table"},
           {"csv", "", "print CSV instead of a table"}}};
}

int run_validate(const Arguments& arguments) {
  if (!arguments.positionals().empty()) {
    throw Error(ErrorKind::usage,
                fmt::format("{}: validate takes flags only; files are given as --metrics and --labels",
                            shown_text(arguments.positionals().front())));
  }
  const bool json = arguments.is_on("json");
  const bool csv = arguments.is_on("csv");
  if (json && csv) throw Error(ErrorKind::usage, "--json and --csv exclude each other");
  const std::string metrics_path = needed(arguments, "metrics", "head_metrics.csv of a run, or its folder");
  const std::string labels_path = needed(arguments, "labels", "a file with what is known of the heads");
  const ValidationOptions options = options_of(arguments);
  const HeadMetrics metrics = read_head_metrics(ResultFiles(metrics_path));
  const HeadLabels labels = read_head_labels(labels_path);
  const Validation validation = validate(metrics, labels, options);
  for (const std::string& note : validation.notes) tell(note + "\n");
  if (json) {
    fmt::print("{}", validation_json(validation, options.bootstrap, metrics.file(), labels.file));
  } else if (csv) {
    fmt::print("{}", validation_csv(validation));
  } else {
    fmt::print("{}", validation_table(validation, options.bootstrap));
  }
  return 0;
}

}  // namespace attention_plasticity

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/cli/commands.h"
#include "attention_plasticity/cli/flag_text.h"
#include "attention_plasticity/cli/terminal.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/evaluation/validation.h"
#include "attention_plasticity/evaluation/validation_report.h"

namespace attention_plasticity {
namespace {

struct ValidateFlags {
  std::optional<std::string> metrics;
  std::optional<std::string> labels;
  ValidationOptions options;
  bool json = false;
  bool csv = false;
};

const FieldTable<ValidateFlags>& validate_table() {
  using Flags = ValidateFlags;
  const auto option = [](auto member) { return nested(&Flags::options, member); };
  const auto bootstrap = [](auto member) {
    return [member](auto& flags) -> auto& { return flags.options.bootstrap.*member; };
  };
  static const FieldTable<ValidateFlags> table{
      {"metrics", values::any_text(), &Flags::metrics, "head_metrics.csv of a run, or the folder that holds it."},
      {"labels", values::any_text(), &Flags::labels,
       "Known labels of heads: CSV, a matrix of KV heads, or JSON {\"layer-head\": [scores]}."},
      {"positive", values::any_text("CONDITION"), option(&ValidationOptions::positive),
       "Heads that should rank above, such as induction>0.1; a comma means or."},
      {"negative", values::any_text("CONDITION"), option(&ValidationOptions::negative),
       "Heads that should rank below, such as previous_token>0.25."},
      {"columns", values::names(), option(&ValidationOptions::measures), "Columns of the metrics.",
       fmt::format("{}", fmt::join(default_measures(), ","))},
      {"bootstrap", values::integer(0, 1'000'000), bootstrap(&BootstrapOptions::resamples),
       "Resamples behind an interval; 0: no intervals."},
      {"confidence", values::share(false), bootstrap(&BootstrapOptions::confidence),
       "Confidence level of the intervals."},
      {"seed", values::seed_number(), bootstrap(&BootstrapOptions::seed), "Seed of the resamples."},
      {"json", values::boolean(), &Flags::json, "Print JSON instead of a table."},
      {"csv", values::boolean(), &Flags::csv, "Print CSV instead of a table."},
  };
  return table;
}

[[noreturn]] void refuse_use(const std::string& message) { throw Error(ErrorKind::usage, message); }

}  // namespace

Command validate_command() {
  return {"validate",
          "",
          "Compare measured heads with their known labels: rank correlations and ROC areas.",
          descriptions(validate_table()),
          {{"attention-plasticity validate --metrics out/mine --labels head_labels.csv --positive 'induction>0.1' "
            "--negative 'previous_token>0.25'",
            "Does plasticity tell heads that retrieve from heads that look one token back?"}}};
}

int run_validate(const Arguments& arguments) {
  arguments.refuse_positionals("validate takes flags only; files are given as --metrics and --labels");
  const auto [metrics_path, labels_path, options, json, csv] = options_of(validate_table(), arguments);
  if (json && csv) refuse_use("--json and --csv exclude each other");
  if (!metrics_path) refuse_use("validate needs --metrics: head_metrics.csv of a run, or its folder");
  if (!labels_path) refuse_use("validate needs --labels: a file with the known labels of the heads");
  if (options.positive.has_value() != options.negative.has_value()) {
    refuse_use(fmt::format("--{} also needs --{}: two kinds of heads are compared",
                           options.positive ? "positive" : "negative", options.positive ? "negative" : "positive"));
  }
  const ResultFiles files(*metrics_path, TableId::metrics, {TableId::metrics});
  const HeadMetrics metrics = read_head_metrics(files);
  const HeadLabels labels = read_head_labels(*labels_path);
  fit_labels(labels, metrics.heads(), files.description(), metrics.file());
  for (const std::string& note : files.notes()) tell_line(note);
  const Validation validation = validate(metrics, labels, options);
  for (const std::string& note : validation.notes) tell_line(note);
  if (json) {
    print(validation_json(validation, options.bootstrap, metrics.file(), labels.file));
  } else if (csv) {
    print(validation_csv(validation));
  } else {
    print(validation_table(validation, options.bootstrap));
  }
  return 0;
}

}  // namespace attention_plasticity

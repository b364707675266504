#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "attention_plasticity/base/atomic_file.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/cli/commands.h"
#include "attention_plasticity/cli/flag_text.h"
#include "attention_plasticity/cli/terminal.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/evaluation/cache_plan_text.h"

namespace attention_plasticity {
namespace {

constexpr std::array<std::string_view, 3> format_words{"json", "tsv", "scores"};

struct PlanFlags {
  std::optional<std::string> metrics;
  std::optional<std::string> plan;
  std::optional<std::string> labels;
  CachePlanOptions options;
  std::optional<PlanFormat> format;
  std::optional<int> num_kv_heads;
  std::optional<int> num_q_heads;
  std::optional<std::string> output;
};

// The scope of a field names the inputs that it applies to: metrics, or a plan in one of the formats.
const FieldTable<PlanFlags>& plan_table() {
  using Flags = PlanFlags;
  using Options = CachePlanOptions;
  const auto option = [](auto member) { return nested(&Flags::options, member); };
  const auto tokens = [](std::uint64_t least) { return values::integer(least, 1'000'000'000'000); };
  static const FieldTable<PlanFlags> table{
      {"metrics", values::any_text(), &Flags::metrics,
       "The same as RESULTS: head_metrics.csv of a run, or the folder that holds it, with run.json beside it."},
      {"plan", values::any_text(), &Flags::plan,
       "Instead of --metrics: a plan in any format, to convert it to another."},
      {"keep", values::number(), option(&Options::keep),
       "Share of the KV heads that stay full, those with the highest scores.", "", "metrics scores"},
      {"threshold", values::number(), option(&Options::threshold),
       "Instead of --keep: KV heads with a score of at least X stay full.", "", "metrics scores"},
      {"column", values::any_text("NAME"), option(&Options::column),
       "Column of the metrics or the labels that scores the query heads. A minus sign before it turns the order. "
       "Several, separated by commas: the mean of their ranks.",
       "", "metrics"},
      {"labels", values::any_text(), &Flags::labels, "File of labels whose columns may score the query heads too.", "",
       "metrics"},
      {"group", values::word({"max", "mean"}), option(&Options::group),
       "How the scores of query heads become that of their KV head.", "", "metrics scores"},
      {"window", tokens(1), option(&Options::window), "Last tokens that a windowed head keeps.", "",
       "metrics tsv scores"},
      {"sinks", tokens(0), option(&Options::sinks), "First tokens that it keeps.", "", "metrics tsv scores"},
      {"missing", values::word({"error", "full"}), option(&Options::keep_missing),
       "What to do about a KV head with a query head that has no score: fail, or keep it full.", "", "metrics scores"},
      {"format", values::word({format_words.begin(), format_words.end()}), &Flags::format,
       "Format of the plan that is written.", "tsv for an --output that ends in .tsv, otherwise json"},
      {"num_kv_heads", values::integer(1, 10'000), &Flags::num_kv_heads, "KV heads of a layer, for a --plan of scores.",
       "as many as query heads", "scores"},
      {"num_q_heads", values::integer(1, 10'000), &Flags::num_q_heads, "Query heads of a layer, for a --plan in tsv.",
       "as many as KV heads", "tsv"},
      {"output", values::any_text(), &Flags::output, "Where to write the plan.", "standard output"},
  };
  return table;
}

CachePlan plan_of_metrics(const std::string& metrics, const PlanFlags& flags) {
  check(flags.options);
  const ResultFiles files(metrics, TableId::metrics, {TableId::metrics});
  std::vector<std::string> notes = files.notes();
  std::optional<HeadLabels> labels;
  if (flags.labels) {
    labels = read_head_labels(*flags.labels);
    notes.insert(notes.end(), labels->notes.begin(), labels->notes.end());
  }
  CachePlan plan =
      plan_cache(read_head_metrics(files), files.description(), flags.options, labels ? &*labels : nullptr);
  for (const std::string& note : notes) tell_line(note);
  return plan;
}

CachePlan plan_of_text(const std::string& text, const std::string& file, PlanFormat format, PlanFlags flags) {
  switch (format) {
    case PlanFormat::json:
      return parse_plan_json(text, file);
    case PlanFormat::tsv:
      return parse_plan_tsv(text, file, flags.num_q_heads, flags.options);
    case PlanFormat::scores:
      flags.options.column = "score";
      return parse_plan_scores(text, file, flags.num_kv_heads, flags.options);
  }
  return {};
}

CachePlan wanted_plan(const PlanFlags& flags, const Arguments& arguments) {
  if (flags.metrics.has_value() == flags.plan.has_value()) {
    throw Error(ErrorKind::usage,
                "plan needs either the RESULTS of a run (a folder, or its head_metrics.csv) or --plan (a plan to "
                "convert to another format)");
  }
  const std::vector<Field> fields = descriptions(plan_table());
  if (flags.metrics) {
    check_scope(arguments.flags, fields, "metrics", "metrics");
    return plan_of_metrics(*flags.metrics, flags);
  }
  const std::string file = flags.plan.value_or("");
  const std::string text = read_text_file(file);
  const PlanFormat format = cache_plan_format(text, file);
  const std::string_view word = format_words[static_cast<std::size_t>(format)];
  check_scope(arguments.flags, fields, word, fmt::format("a {} plan", word));
  return plan_of_text(text, file, format, flags);
}

PlanFormat format_of_ending(const std::string& file) {
  return lower_case(std::filesystem::path(file).extension().string()) == ".tsv" ? PlanFormat::tsv : PlanFormat::json;
}

std::string summary(const CachePlan& plan) {
  const std::size_t windowed = plan.count(CacheKind::window);
  std::string text = fmt::format("{}: {} full, {} windowed", counted_text(plan.heads.size(), "KV head"),
                                 plan.count(CacheKind::full), windowed);
  if (windowed > 0) text += fmt::format(" ({} + {} tokens)", plan.window, plan.sinks);
  if (const std::size_t sliding = plan.count(CacheKind::sliding); sliding > 0) {
    text += fmt::format(", {} sliding as they are", sliding);
  }
  text += "\ncache saved:";
  const char* separator = " ";
  for (const auto& [name, length] : {std::pair("4k", 4096), std::pair("32k", 32768), std::pair("128k", 131072)}) {
    text += fmt::format("{}{:.1f}% at {}", separator, 100 * cache_saved(plan, length), name);
    separator = ", ";
  }
  return text + " tokens\n";
}

}  // namespace

Command plan_command() {
  return {"plan",
          "[RESULTS]",
          "Plan which KV heads keep their whole cache and which need only a short window.",
          descriptions(plan_table()),
          {{"attention-plasticity plan out/mine --keep 0.5 -o plan.json",
            "Keep the whole cache of half the KV heads, those with the highest plasticity."},
           {"attention-plasticity plan out/mine --keep 0.5 --labels head_labels.csv --column ap_exact,mean_distance",
            "Score by the mean of two ranks."},
           {"attention-plasticity plan --plan plan.json --format tsv -o plan.tsv", "Write a plan in another format."}}};
}

int run_plan(const Arguments& arguments) {
  PlanFlags flags = options_of(plan_table(), arguments);
  if (!arguments.positionals.empty()) {
    const std::string& results =
        arguments.only_positional("plan takes one folder of results: attention-plasticity plan RESULTS");
    if (flags.metrics) throw Error(ErrorKind::usage, "RESULTS and --metrics are the same; give one of them");
    flags.metrics = results;
  }
  const CachePlan plan = wanted_plan(flags, arguments);
  const std::string text = cache_plan_text(plan, flags.format.value_or(format_of_ending(flags.output.value_or(""))));
  if (!flags.output) {
    print(text);
    tell(summary(plan));
    return 0;
  }
  write_file_atomically(*flags.output, text);
  print(summary(plan));
  return 0;
}

}  // namespace attention_plasticity

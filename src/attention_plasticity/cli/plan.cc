#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "attention_plasticity/base/atomic_file.h"
#include "attention_plasticity/base/error.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/cli/commands.h"
#include "attention_plasticity/cli/terminal.h"
#include "attention_plasticity/run/config_value.h"
#include "attention_plasticity/study/cache_plan_text.h"

namespace attention_plasticity {
namespace {

constexpr std::array<std::string_view, 3> format_words{"json", "tsv", "scores"};

// What the flags say, beside where the plan comes from.
struct PlanSettings {
  CachePlanOptions options;
  PlanFormat format = PlanFormat::json;
  std::optional<int> num_q_heads;
  std::optional<int> num_kv_heads;
};

int head_count(std::string_view text) { return static_cast<int>(config_integer(text, 1, 10'000)); }

std::int64_t tokens(std::string_view text, std::uint64_t low) {
  return static_cast<std::int64_t>(config_integer(text, low, 1'000'000'000'000));
}

// A flag of the plan, and the sources of a plan to which it means something.
struct PlanFlag {
  const char* name;
  const char* value;
  const char* help;
  std::string_view sources;  // of: metrics json tsv scores
  void (*set)(PlanSettings& settings, std::string_view text);
};

constexpr PlanFlag plan_flags[]{
    {"keep", "X", "share of the KV heads that stay full, those with the highest scores", "metrics scores",
     [](PlanSettings& s, std::string_view v) { s.options.keep = config_number(v); }},
    {"threshold", "X", "in place of --keep: KV heads stay full whose score is at least X", "metrics scores",
     [](PlanSettings& s, std::string_view v) { s.options.threshold = config_number(v); }},
    {"column", "NAME", "what query heads are scored by (default: ap_exact)", "metrics",
     [](PlanSettings& s, std::string_view v) { s.options.column = std::string(v); }},
    {"group", "max|mean", "how query heads score their KV head (default: max)", "metrics scores",
     [](PlanSettings& s, std::string_view v) {
       constexpr std::array<std::string_view, 2> words{"max", "mean"};
       s.options.group = static_cast<GroupScore>(config_word(v, words));
     }},
    {"window", "N", "last tokens that a windowed head keeps (default: 64)", "metrics tsv scores",
     [](PlanSettings& s, std::string_view v) { s.options.window = tokens(v, 1); }},
    {"sinks", "N", "first tokens that it keeps (default: 4)", "metrics tsv scores",
     [](PlanSettings& s, std::string_view v) { s.options.sinks = tokens(v, 0); }},
    {"missing", "error|full", "KV heads of which a query head has no score (default: error)", "metrics scores",
     [](PlanSettings& s, std::string_view v) {
       constexpr std::array<std::string_view, 2> words{"error", "full"};
       s.options.keep_missing = config_word(v, words) == 1;
     }},
    {"format", "json|tsv|scores", "of the plan that is written (default: json)", "metrics json tsv scores",
     [](PlanSettings& s, std::string_view v) { s.format = static_cast<PlanFormat>(config_word(v, format_words)); }},
    {"num_kv_heads", "N", "KV heads of a layer, for a --plan of scores (default: as many as query heads)", "scores",
     [](PlanSettings& s, std::string_view v) { s.num_kv_heads = head_count(v); }},
    {"num_q_heads", "N", "query heads of a layer, for a --plan in tsv (default: as many as KV heads)", "tsv",
     [](PlanSettings& s, std::string_view v) { s.num_q_heads = head_count(v); }},
};

bool names(std::string_view words, std::string_view word) {
  return fmt::format(" {} ", words).find(fmt::format(" {} ", word)) != std::string::npos;
}

PlanSettings settings_of(const Arguments& arguments, std::string_view source) {
  PlanSettings settings;
  for (const PlanFlag& flag : plan_flags) {
    const auto text = arguments.value(flag.name);
    if (!text) continue;
    if (!names(flag.sources, source)) {
      throw Error(ErrorKind::usage, fmt::format("--{}: means nothing to {}; leave it out", flag.name,
                                                source == "metrics" ? "metrics" : fmt::format("a {} plan", source)));
    }
    try {
      flag.set(settings, *text);
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("--{}: {}", flag.name, error.what()));
    }
  }
  return settings;
}

struct WantedPlan {
  CachePlan plan;
  PlanFormat format;
};

WantedPlan plan_of_metrics(const std::string& path, const Arguments& arguments) {
  const PlanSettings settings = settings_of(arguments, "metrics");
  check(settings.options);
  const ResultFiles files(path);
  return {plan_cache(read_head_metrics(files), files.description(), settings.options), settings.format};
}

WantedPlan plan_of_file(const std::string& path, const Arguments& arguments) {
  const std::string text = read_text_file(path);
  const PlanFormat format = cache_plan_format(text, path);
  PlanSettings settings = settings_of(arguments, format_words[static_cast<std::size_t>(format)]);
  switch (format) {
    case PlanFormat::json:
      return {parse_plan_json(text, path), settings.format};
    case PlanFormat::tsv:
      return {parse_plan_tsv(text, path, settings.num_q_heads, settings.options), settings.format};
    case PlanFormat::scores:
      settings.options.column = "score";
      return {parse_plan_scores(text, path, settings.num_kv_heads, settings.options), settings.format};
  }
  return {};
}

std::string summary(const CachePlan& plan) {
  const std::size_t windowed = plan.count(CacheKind::window);
  std::string text =
      fmt::format("{} KV heads: {} full, {} windowed", plan.heads.size(), plan.count(CacheKind::full), windowed);
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
  Command command{
      "plan",
      "",
      "Plan which KV heads keep their whole cache and which do with a short window.",
      {{"metrics", "FILE", "head_metrics.csv of a run, or the folder that holds it, with run.json beside it"},
       {"plan", "FILE", "in place of --metrics: a plan in any format, to write it in another"}}};
  for (const PlanFlag& flag : plan_flags) command.flags.push_back({flag.name, flag.value, flag.help});
  command.flags.push_back({"output", "FILE", "where to write the plan (default: standard output)"});
  return command;
}

int run_plan(const Arguments& arguments) {
  if (!arguments.positionals().empty()) {
    throw Error(ErrorKind::usage, fmt::format("{}: plan takes flags only; metrics are given as --metrics",
                                              shown_text(arguments.positionals().front())));
  }
  const auto metrics = arguments.value("metrics");
  const auto file = arguments.value("plan");
  if (metrics.has_value() == file.has_value()) {
    throw Error(ErrorKind::usage, "plan needs one of --metrics (what a run measured) and --plan (a plan to rewrite)");
  }
  const WantedPlan wanted = metrics ? plan_of_metrics(*metrics, arguments) : plan_of_file(*file, arguments);
  const std::string text = cache_plan_text(wanted.plan, wanted.format);
  const auto output = arguments.value("output");
  if (!output) {
    fmt::print("{}", text);
    tell(summary(wanted.plan));
    return 0;
  }
  write_file_atomically(*output, text);
  fmt::print("{}", summary(wanted.plan));
  return 0;
}

}  // namespace attention_plasticity

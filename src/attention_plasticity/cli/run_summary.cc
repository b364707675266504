#include "attention_plasticity/cli/run_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/cli/commands.h"
#include "attention_plasticity/cli/terminal.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/evaluation/head_ranking.h"
#include "attention_plasticity/results/head_tables.h"
#include "attention_plasticity/results/summary.h"

namespace attention_plasticity {
namespace {

// The labels of a file, if they fit the heads of the run; `notes` gets the counts where they differ.
HeadLabels fitting_labels(const std::filesystem::path& file, const PreparedRun& prepared,
                          std::vector<std::string>& notes) {
  HeadLabels labels = read_head_labels(file);
  std::vector<HeadId> heads(prepared.tasks.size());
  std::ranges::transform(prepared.tasks, heads.begin(), &HeadTask::head);
  RunDescription model;
  model.num_layers = prepared.grid.num_layers;
  model.num_q_heads = prepared.grid.num_q_heads;
  model.num_k_heads = prepared.grid.num_k_heads;
  const std::string note = fit_labels(labels, heads, model, prepared.layout.folder.string()).note(labels);
  notes.insert(notes.end(), labels.notes.begin(), labels.notes.end());
  if (!note.empty()) notes.push_back(note);
  return labels;
}

void print_extremes(const std::vector<HeadResult>& results, bool with_errors, const std::optional<HeadLabels>& labels) {
  constexpr std::size_t count = 5;
  RankedMeasure measure{.name = "ap_exact"};
  for (const HeadResult& result : results) {
    measure.heads.push_back(result.head);
    measure.values.push_back(metric_value(result, metrics_column("ap_exact")));
    if (with_errors) measure.errors.push_back(metric_value(result, metrics_column("ap_exact_se")));
  }
  const std::string table = ranking_table(measure, count, labels ? &*labels : nullptr);
  if (table.empty()) return;
  print(
      fmt::format("Heads by ap_exact{}{}:\n\n{}\n",
                  results.size() > 2 * count ? fmt::format(", the {} most and the {} least plastic", count, count) : "",
                  labels ? fmt::format(", beside {}", labels->file) : "", table));
}

// Tells of heads without plasticity. False when no head has any.
bool tell_without_plasticity(const std::vector<HeadResult>& results) {
  const WithoutPlasticity without = heads_without_plasticity(results);
  if (without.heads == 0) return true;
  if (without.heads < results.size()) {
    tell(
        fmt::format("warning: {} of {} heads have no plasticity: {}\n", without.heads, results.size(), without.reason));
    return true;
  }
  tell(fmt::format("attention-plasticity: no head has any plasticity: {}\n", without.reason));
  return false;
}

}  // namespace

std::optional<HeadLabels> find_labels(const std::optional<std::string>& given, const PreparedRun& prepared,
                                      std::vector<std::string>& notes) {
  if (given) return fitting_labels(*given, prepared, notes);
  const std::filesystem::path found = prepared.layout.folder / "head_labels.csv";
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(found, unknown)) return std::nullopt;
  try {
    return fitting_labels(found, prepared, notes);
  } catch (const Error& error) {
    notes.push_back(fmt::format("{}: ignored: {}", found.string(), error.what()));
    return std::nullopt;
  }
}

void print_summary(const PreparedRun& prepared, const RunResult& run, const RunSummary& summary,
                   const std::vector<std::string>& files, const std::optional<HeadLabels>& labels) {
  print(fmt::format("{}: {} analysed, {} failed, {} not captured\n\n", shown_text(prepared.model_name),
                    counted_text(run.results.size(), "head"), run.failures.size(), prepared.skipped));
  print(fmt::format("{}\n", summary_table(summary.columns)));
  const char* const title = summary.written.exact ? "Position-exact plasticity" : "Plasticity";
  print(fmt::format("{}\n\n", model_line(title, summary.models.back())));
  if (summary.written.exact) print_extremes(run.results, summary.written.errors, labels);
  print("Written:\n");
  for (const std::string& file : files) print(fmt::format("  {}\n", file));
}

int exit_code_of(const RunResult& run) {
  const bool measured = tell_without_plasticity(run.results);
  return run.failures.empty() && measured ? 0 : some_heads_failed;
}

}  // namespace attention_plasticity

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/cli/commands.h"
#include "attention_plasticity/cli/fetching.h"
#include "attention_plasticity/cli/flag_text.h"
#include "attention_plasticity/cli/machine.h"
#include "attention_plasticity/cli/progress.h"
#include "attention_plasticity/cli/signals.h"
#include "attention_plasticity/cli/terminal.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/hub/http.h"
#include "attention_plasticity/run/analysis_run.h"
#include "attention_plasticity/run/config_fields.h"
#include "attention_plasticity/run/dump_run.h"
#include "attention_plasticity/run/result_tables.h"
#include "attention_plasticity/run/results.h"
#include "attention_plasticity/run/summary.h"
#include "attention_plasticity/study/head_labels.h"
#include "attention_plasticity/study/head_ranking.h"

namespace attention_plasticity {
namespace {

struct AnalyzeFlags {
  bool dry_run = false;
  bool quiet = false;
  std::optional<std::string> labels;
  bool progress = true;
};

const FieldTable<AnalyzeFlags>& analyze_table() {
  static const FieldTable<AnalyzeFlags> table{
      {"dry_run", values::boolean(), &AnalyzeFlags::dry_run,
       "Print the resolved configuration and the plan, and stop."},
      {"quiet", values::boolean(), &AnalyzeFlags::quiet, "Print failures and warnings only."},
      {"labels", values::any_text(), &AnalyzeFlags::labels,
       "Known roles of heads, printed beside the most and least plastic heads.", "head_labels.csv in the dump"},
      {"progress", values::boolean(), &AnalyzeFlags::progress,
       "Redraw a progress bar on a terminal; --no-progress prints a line for each head."},
  };
  return table;
}

// Layers whose files do not tell their width are left out.
void print_rotation(const PreparedRun& prepared) {
  if (!prepared.rotation) {
    fmt::print("# rotation: not known\n");
    return;
  }
  std::map<int, std::size_t> width_of_layer;
  for (const HeadTask& task : prepared.tasks) {
    if (task.width > 0) width_of_layer[task.head.layer] = task.width;
  }
  const auto groups = layers_by_rotation(*prepared.rotation, width_of_layer);
  for (const LayersOfRotation& group : groups) {
    fmt::print("# rotation: {}{}\n", group.rotation,
               groups.size() == 1 ? "" : fmt::format(" (layers {})", fmt::join(group.layers, ", ")));
  }
}

void print_dry_run(const PreparedRun& prepared, const RunConfig& config, int workers, const std::string& to_fetch) {
  fmt::print("{}", config_text(config));
  fmt::print("\n# Plan\n");
  fmt::print("# model: {}, {} layers, {} query heads, {} key heads\n", shown_text(prepared.model_name),
             prepared.grid.num_layers, prepared.grid.num_q_heads, prepared.grid.num_k_heads);
  fmt::print("# dump: {}\n", prepared.layout.folder.string());
  if (!to_fetch.empty()) fmt::print("# to fetch: {}\n", to_fetch);
  fmt::print("# heads to analyse: {}; selected but not captured: {}\n", prepared.tasks.size(), prepared.skipped);
  if (config.analysis.num_triples > 0) print_rotation(prepared);
  fmt::print("# workers: {}\n", workers);
  std::uint64_t largest = 0;
  for (const HeadTask& task : prepared.tasks) largest = std::max(largest, task.query_bytes + task.key_bytes);
  fmt::print("# memory for the largest head: about {:.1f} MiB\n", static_cast<double>(largest) / (1 << 20));
  for (const std::string& path : result_paths(prepared, config)) fmt::print("# writes: {}\n", path);
}

std::string head_line(const HeadEvent& event) {
  const std::string head = fmt::format("[{}/{}] layer {} q_head {} k_head {}", event.ended, event.total,
                                       event.head.layer, event.head.q_head, event.head.k_head);
  if (event.failure != nullptr) {
    return fmt::format("{} failed: {}: {}", head, event.failure->file, event.failure->message);
  }
  const bool exact = event.result->exact.has_value();
  const double value = exact ? event.result->exact->overall : event.result->plasticity.overall;
  const double error = exact ? event.result->exact_error : event.result->plasticity_error;
  if (std::isnan(value)) return head + ": no key pairs, so no plasticity";
  return fmt::format("{}: plasticity {:.4f}{}", head, value, std::isnan(error) ? "" : fmt::format(" ± {:.4f}", error));
}

std::string model_line(const RunResult& run, const RunParts& parts) {
  if (parts.exact) {
    return model_line("Position-exact plasticity",
                      summarize_model("ap_exact", run.results, run.model_without_group.exact));
  }
  return model_line("Plasticity", summarize_model("ap_overall", run.results, run.model_without_group.overall));
}

// Labels of the heads: from the file given, or from head_labels.csv in the dump.
std::optional<HeadLabels> find_labels(const std::optional<std::string>& given, const PreparedRun& prepared) {
  if (given) return read_head_labels(*given);
  const std::filesystem::path found = prepared.layout.folder / "head_labels.csv";
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(found, unknown)) return std::nullopt;
  try {
    return read_head_labels(found);
  } catch (const Error& error) {
    tell(fmt::format("{}: {}: ignored\n", found.string(), error.what()));
    return std::nullopt;
  }
}

void print_extremes(const std::vector<HeadResult>& results, bool with_errors, const std::optional<HeadLabels>& labels) {
  constexpr std::size_t count = 5;
  RankedMeasure measure{.name = "ap_exact"};
  for (const HeadResult& result : results) {
    measure.heads.push_back(result.head);
    measure.values.push_back(metric_value(result, "ap_exact"));
    if (with_errors) measure.errors.push_back(metric_value(result, "ap_exact_se"));
  }
  const std::string table = ranking_table(measure, count, labels ? &*labels : nullptr);
  if (table.empty()) return;
  fmt::print("Heads by ap_exact{}{}:\n\n{}\n",
             results.size() > 2 * count ? fmt::format(", the {} most and the {} least plastic", count, count) : "",
             labels ? fmt::format(", beside {}", labels->file) : "", table);
}

void print_summary(const PreparedRun& prepared, const RunResult& run, const RunParts& parts,
                   const std::vector<std::string>& files, const std::optional<HeadLabels>& labels) {
  fmt::print("{}: {} heads analysed, {} failed, {} not captured\n\n", shown_text(prepared.model_name),
             run.results.size(), run.failures.size(), prepared.skipped);
  fmt::print("{}\n", summary_table(summarize(run.results, parts)));
  fmt::print("{}\n\n", model_line(run, parts));
  if (parts.exact) print_extremes(run.results, parts.errors, labels);
  fmt::print("Written:\n");
  for (const std::string& file : files) fmt::print("  {}\n", file);
}

// One run, from its configuration to its tables.
class Analysis {
 public:
  Analysis(const AnalyzeFlags& flags, const RunConfig& config, Verbosity verbosity, const Terminal& terminal,
           const StopOnSignal& interruption)
      : flags_(flags),
        workers_(config.max_workers.value_or(usable_cores())),
        verbosity_(verbosity),
        terminal_(terminal),
        interruption_(interruption),
        run_(config, config.dataset_local_root ? HubSettings{} : process_hub_settings(), interruption.token()) {}

  int run() {
    if (flags_.dry_run) {
      for (const std::string& note : run_.notes()) tell(with_flags(note) + "\n");
      for (const std::string& warning : prepared().warnings) tell("warning: " + with_flags(warning) + "\n");
      print_dry_run(prepared(), config(), workers_, run_.missing_files());
      return 0;
    }
    check_outputs(prepared(), config());
    const std::optional<HeadLabels> labels = find_labels(flags_.labels, prepared());
    const RunResult result = measure();
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    const std::vector<std::string> files =
        write_results(prepared(), config(), result, {workers_, wall, cpu_seconds(), peak_rss_bytes()});
    if (result.interrupted) return interrupted(result, files);
    if (result.results.empty()) {
      throw Error(ErrorKind::input, fmt::format("every head failed; {} lists why", files.back()));
    }
    if (verbosity_ != Verbosity::quiet) {
      print_summary(prepared(), result, run_parts(result.results, config()), files, labels);
    }
    return result.failures.empty() ? 0 : some_heads_failed;
  }

 private:
  const PreparedRun& prepared() const { return run_.prepared(); }
  const RunConfig& config() const { return run_.config(); }

  RunResult measure() {
    Progress progress(verbosity_, terminal_, "heads");
    DownloadDisplay downloads(progress);
    return run_.measure(workers_,
                        {[&](const HeadEvent& event) {
                           if (event.failure != nullptr) {
                             progress.failure(head_line(event));
                           } else {
                             progress.advance(event.ended, event.total, head_line(event));
                           }
                         },
                         [&](const std::string& note) { progress.note(note); },
                         [&](const std::string& warning) { progress.warning(warning); },
                         [&](const DownloadProgress& now) { downloads.show_beside(now); }},
                        interruption_.token());
  }

  // Keeps the finished heads. A failure that ended the run has a message of its own.
  int interrupted(const RunResult& result, const std::vector<std::string>& files) const {
    if (!result.results.empty()) {
      tell(fmt::format("interrupted: {} of {} heads are in {}\n", result.results.size(), prepared().tasks.size(),
                       files.front()));
    } else if (!result.failure) {
      tell("interrupted before any head was finished\n");
    }
    if (result.failure) std::rethrow_exception(result.failure);
    return 128 + interruption_.signal();
  }

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const AnalyzeFlags& flags_;
  int workers_;
  Verbosity verbosity_;
  Terminal terminal_;
  const StopOnSignal& interruption_;
  DumpRun run_;
};

}  // namespace

Command analyze_command() {
  Command command{"analyze", "", "Measure every head of a dump and write the tables.", {}};
  command.flags.push_back(config_flag("YAML file with any of the fields below; flags win over it."));
  for (const Field& flag : analyze_table()) command.flags.push_back(flag);
  command.flags.insert(command.flags.end(), config_fields().begin(), config_fields().end());
  return command;
}

int run_analyze(const Arguments& arguments) {
  arguments.refuse_positionals("analyze takes flags only; a dump is given as --dataset_local_root");
  const AnalyzeFlags flags = options_of(analyze_table(), arguments);
  const RunConfig config = resolve_config(configured_settings(arguments, config_fields()));
  const Terminal terminal = Terminal::of_standard_error();
  const Verbosity verbosity = verbosity_of(flags.quiet, flags.progress, terminal);
  StopOnSignal interruption([&] {
    if (verbosity == Verbosity::quiet) return;
    // Clears the bar, into which the terminal has echoed ^C. The bar is drawn again below.
    tell(fmt::format("{}stopping after the heads in progress; interrupt again to quit at once\n",
                     verbosity == Verbosity::bar ? clear_line : ""));
  });
  try {
    return Analysis(flags, config, verbosity, terminal, interruption).run();
  } catch (const Stopped&) {
    tell("interrupted before any head was finished\n");
    return 128 + interruption.signal();
  }
}

}  // namespace attention_plasticity

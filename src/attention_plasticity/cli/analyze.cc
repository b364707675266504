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
#include "attention_plasticity/base/usable_cores.h"
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

// Labels of the heads: from the file given, or from head_labels.csv in the dump.
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
  fmt::print("{}: {} analysed, {} failed, {} not captured\n\n", shown_text(prepared.model_name),
             counted_text(run.results.size(), "head"), run.failures.size(), prepared.skipped);
  fmt::print("{}\n", summary_table(summarize(run.results, parts)));
  fmt::print("{}\n\n", model_line(run, parts));
  if (parts.exact) print_extremes(run.results, parts.errors, labels);
  fmt::print("Written:\n");
  for (const std::string& file : files) fmt::print("  {}\n", file);
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

constexpr std::string_view how_to_begin =
    "analyze needs a dump: a folder on disk, or a dataset of the Hugging Face Hub\n\n"
    "  attention-plasticity analyze --dataset_local_root FOLDER --output_dir out\n"
    "  attention-plasticity analyze --dataset_name USER/DATASET --dataset_revision BRANCH --output_dir out\n"
    "  attention-plasticity analyze --config FILE.yaml\n\n"
    "attention-plasticity inspect FOLDER shows what a dump holds; attention-plasticity synth FOLDER writes one to "
    "try.\n"
    "attention-plasticity analyze --help lists every option.\n";

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
      check_earlier_results(prepared(), config());
      for (const std::string& note : run_.notes()) tell(with_flags(note) + "\n");
      for (const std::string& warning : prepared().warnings) tell("warning: " + with_flags(warning) + "\n");
      print_dry_run(prepared(), config(), workers_, run_.missing_files());
      return 0;
    }
    const std::vector<FolderLock> locks = lock_outputs(prepared(), config());
    for (const FolderLock& lock : locks) {
      if (lock.is_held()) continue;
      tell(fmt::format("warning: {}: this file system has no locks; make sure that no other run writes here\n",
                       lock.folder().string()));
    }
    check_outputs(prepared(), config());
    std::vector<std::string> label_notes;
    const std::optional<HeadLabels> labels = find_labels(flags_.labels, prepared(), label_notes);
    const RunResult result = measure(label_notes);
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
    const bool measured = tell_without_plasticity(result.results);
    return result.failures.empty() && measured ? 0 : some_heads_failed;
  }

 private:
  const PreparedRun& prepared() const { return run_.prepared(); }
  const RunConfig& config() const { return run_.config(); }

  RunResult measure(const std::vector<std::string>& label_notes) {
    Progress progress(verbosity_, terminal_, "heads");
    for (const std::string& note : label_notes) progress.note(note);
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
  command.examples = {
      {"attention-plasticity analyze --dataset_local_root DUMP -o out/mine", "Measure a dump on disk."},
      {"attention-plasticity analyze --config run.yaml --layers 0-3 --dry-run", "See what a run would do."},
      {"attention-plasticity analyze --dataset_name ORG/NAME --dataset_revision BRANCH -o out/hub",
       "Measure a dump on the Hugging Face Hub."},
  };
  return command;
}

int run_analyze(const Arguments& arguments) {
  arguments.refuse_positionals("analyze takes flags only; a dump is given as --dataset_local_root");
  if (arguments.flags.empty()) {
    tell(how_to_begin);
    return exit_code(ErrorKind::usage);
  }
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

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "attention_plasticity/base/stop_scope.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/base/usable_cores.h"
#include "attention_plasticity/cli/commands.h"
#include "attention_plasticity/cli/dry_run.h"
#include "attention_plasticity/cli/engine_flags.h"
#include "attention_plasticity/cli/fetching.h"
#include "attention_plasticity/cli/flag_text.h"
#include "attention_plasticity/cli/machine.h"
#include "attention_plasticity/cli/output_address.h"
#include "attention_plasticity/cli/output_locks.h"
#include "attention_plasticity/cli/progress.h"
#include "attention_plasticity/cli/resume_command.h"
#include "attention_plasticity/cli/run_summary.h"
#include "attention_plasticity/cli/signals.h"
#include "attention_plasticity/cli/terminal.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/options/config_fields.h"
#include "attention_plasticity/results/output_files.h"
#include "attention_plasticity/run/analysis_run.h"
#include "attention_plasticity/run/dump_run.h"
#include "attention_plasticity/run/results.h"
#include "attention_plasticity/run/stored_output.h"

namespace attention_plasticity {
namespace {

struct AnalyzeFlags {
  bool dry_run = false;
  bool resume = false;
  std::optional<std::string> shard;
  bool quiet = false;
  std::optional<std::string> labels;
  bool progress = true;
};

const FieldTable<AnalyzeFlags>& analyze_table() {
  static const FieldTable<AnalyzeFlags> table{
      {"dry_run", values::boolean(), &AnalyzeFlags::dry_run,
       "Print the resolved configuration and the plan, and stop."},
      {"resume", values::boolean(), &AnalyzeFlags::resume,
       "Go on with a run that ended early: use the heads that it saved beside its outputs, and measure the others."},
      {"shard", values::any_text("I/N"), &AnalyzeFlags::shard,
       "Measure a shard of the heads: 3/16 is the third of 16 shards, which the subcommand merge puts together.",
       "all heads"},
      {"quiet", values::boolean(), &AnalyzeFlags::quiet, "Print failures and warnings only."},
      {"labels", values::any_text(), &AnalyzeFlags::labels,
       "Known roles of heads, printed beside the most and least plastic heads.", "head_labels.csv in the dump"},
      {"progress", values::boolean(), &AnalyzeFlags::progress,
       "Redraw a progress bar on a terminal; --no-progress prints a line for each head."},
  };
  return table;
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

constexpr std::string_view how_to_begin =
    "analyze needs a dump: a folder on disk, or a dataset of the Hugging Face Hub\n\n"
    "  attention-plasticity analyze --dataset_local_root FOLDER --output_dir out\n"
    "  attention-plasticity analyze --dataset_name USER/DATASET --dataset_revision BRANCH --output_dir out\n"
    "  attention-plasticity analyze --config FILE.yaml\n\n"
    "attention-plasticity inspect FOLDER shows what a dump holds; attention-plasticity synth FOLDER writes one to "
    "try.\n"
    "attention-plasticity analyze --help lists every option.\n";

void check_engine(const AnalyzeFlags& flags, const EngineFlags& engine) {
  if (engine.engine == 0 || !flags.shard) return;
  throw Error(ErrorKind::usage, "--engine ray places the heads by itself; leave out --shard");
}

std::optional<Shard> shard_of(const AnalyzeFlags& flags) {
  if (!flags.shard) return std::nullopt;
  try {
    return Shard::of(*flags.shard);
  } catch (const Error& error) {
    throw Error(ErrorKind::usage, fmt::format("--shard: {}", error.what()));
  }
}

// The files in a store that decide whether earlier results are replaced, or complete.
std::vector<std::string> files_to_bring(const AnalyzeFlags& flags) {
  return flags.shard ? shard_record_files() : std::vector<std::string>{"run.json"};
}

// One run, from its configuration to its tables, or a shard of it.
class Analysis {
 public:
  /// `output`: the store that results go to; null: they stay on disk. `engine`: who measures the heads; null: this
  /// process.
  Analysis(const AnalyzeFlags& flags, const Arguments& arguments, const RunConfig& config, const StoredOutput* output,
           EngineProcess* engine, Verbosity verbosity, const Terminal& terminal, const StopOnSignal& interruption)
      : flags_(flags),
        arguments_(arguments),
        output_(output),
        engine_(engine),
        workers_(config.max_workers.value_or(usable_cores())),
        verbosity_(verbosity),
        terminal_(terminal),
        interruption_(interruption),
        shard_(shard_of(flags)),
        run_(config, config.dataset_local_root ? HubSettings{} : process_hub_settings(), interruption.token(), shard_) {
  }

  int run() {
    if (flags_.dry_run) return dry_run();
    return shard_ ? shard(*shard_) : whole();
  }

 private:
  const PreparedRun& prepared() const { return run_.prepared(); }
  const RunConfig& config() const { return run_.config(); }
  SavedHeads::Options save() const {
    return {shard_ ? shard_heads_folder(config()) : saved_heads_folder(config()), flags_.resume};
  }

  int dry_run() {
    check_earlier_output(prepared(), config(), output_);
    for (const std::string& note : run_.notes()) tell_line(note);
    for (const std::string& warning : prepared().warnings) tell_line("warning: " + warning);
    if (run_.missing_files().empty()) {
      run_.decide_rotation({{},
                            [](const std::string& note) { tell_line(note); },
                            [](const std::string& warning) { tell_line("warning: " + warning); },
                            {}},
                           interruption_.token());
    }
    print_dry_run(prepared(), config(), {workers_, run_.missing_files(), shard_, output_});
    return 0;
  }

  int shard(const Shard& shard) {
    const std::vector<std::string> targets{shard_json_path(config())};
    const std::vector<FolderLock> locks = locked_outputs(targets);
    check_earlier_shard(prepared(), config(), shard);
    check_writable(targets);
    Progress progress(verbosity_, terminal_, "heads");
    DownloadDisplay downloads(progress);
    const RunObserver told = observer(progress, downloads);
    if (flags_.resume) {
      run_.decide(told, interruption_.token());
      if (is_shard_complete(prepared(), config(), shard, output_ == nullptr)) {
        return say_complete(shard_json_path(config()));
      }
    }
    const HeadOutcomes outcomes = run_.measure_shard(workers_, told, interruption_.token(), save());
    if (outcomes.interrupted) {
      tell(fmt::format("interrupted: {} of {} heads of shard {} are saved\n{}", outcomes.heads.size(),
                       run_.tasks().size(), shard.text(), how_to_resume()));
      if (outcomes.failure) std::rethrow_exception(outcomes.failure);
      return 128 + interruption_.signal();
    }
    const auto failed = static_cast<std::size_t>(
        std::ranges::count_if(outcomes.heads, [](const HeadOutcome& head) { return head.failure.has_value(); }));
    const std::size_t done = outcomes.heads.size() - failed;
    const std::vector<std::string> files =
        written([&] { return put(write_shard(config(), shard, done, failed, host_name(), resources())); });
    if (failed == 0) forget_output();
    if (verbosity_ != Verbosity::quiet) {
      print(fmt::format("shard {}: {} of {} analysed, {} failed: {}\n", shard.text(), done,
                        counted_text(prepared().tasks.size(), "head"), failed, files.back()));
    }
    return failed == 0 ? 0 : some_heads_failed;
  }

  int whole() {
    const std::vector<FolderLock> locks = locked_outputs(result_paths(prepared(), config()));
    check_outputs(prepared(), config());
    std::vector<std::string> label_notes;
    const std::optional<HeadLabels> labels = find_labels(flags_.labels, prepared(), label_notes);
    std::optional<RunResult> measured;
    {
      Progress progress(verbosity_, terminal_, "heads");
      for (const std::string& note : label_notes) progress.note(note);
      DownloadDisplay downloads(progress);
      const RunObserver told = observer(progress, downloads);
      if (flags_.resume) run_.decide_rotation(told, interruption_.token());
      if (!flags_.resume || !are_results_complete(prepared(), config(), tables_in_store())) {
        measured = run_.measure(workers_, told, interruption_.token(), save(),
                                engine_ == nullptr ? Engine() : function_of(*engine_), &elsewhere_);
      }
    }
    if (!measured) return say_complete(run_json_path(config()));
    const RunResult& result = *measured;
    const RunSummary summary = summarize_run(result, config());
    const std::vector<std::string> files =
        written([&] { return put_whole(result, write_results(prepared(), config(), result, summary, resources())); });
    if (result.interrupted) return interrupted(result, files);
    if (result.results.empty()) {
      throw Error(ErrorKind::input, fmt::format("every head failed; {} lists why", files.back()));
    }
    if (result.failures.empty()) {
      run_.remove_saved();
      forget_output();
    }
    if (verbosity_ != Verbosity::quiet) print_summary(prepared(), result, summary, files, labels);
    return exit_code_of(result);
  }

  // What `write` returns. Where it fails, the message says that the heads need not be measured again.
  template <typename Write>
  std::vector<std::string> written(const Write& write) const {
    try {
      return write();
    } catch (const Error& error) {
      std::error_code unknown;
      const bool in_place = std::string_view(error.what()).find("results are in place") != std::string_view::npos;
      if (in_place || !std::filesystem::exists(save().folder, unknown)) throw;
      throw Error(error.kind(), fmt::format("{}; the measured heads are saved: go on with --resume", error.what()),
                  error.file());
    }
  }

  // Brings files to the store, if they go there. Returns where they are then.
  std::vector<std::string> put(const std::vector<std::string>& files) const {
    return output_ == nullptr ? files : output_->put(files);
  }
  // What an interrupted run leaves, or one whose heads all failed, stays on disk.
  std::vector<std::string> put_whole(const RunResult& result, const std::vector<std::string>& files) const {
    return result.interrupted || result.results.empty() ? files : put(files);
  }
  void forget_output() const {
    if (output_ != nullptr) output_->forget();
  }

  // Not set: they are on disk.
  std::function<bool(const std::string&, const std::string&)> tables_in_store() const {
    if (output_ == nullptr) return {};
    return [this](const std::string& table, const std::string& sha256) { return output_->holds(table, sha256); };
  }

  int say_complete(const std::string& file) const {
    if (!shard_) remove_saved_heads(save().folder);
    forget_output();
    if (verbosity_ == Verbosity::quiet) return 0;
    const std::string place = output_ == nullptr ? file : output_->shown(file);
    tell(fmt::format("{}: this run is complete; nothing is left to do\n", place));
    return 0;
  }

  RunResources resources() const {
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    return {workers_, wall, cpu_seconds() + elsewhere_.cpu_s, std::max(peak_rss_bytes(), elsewhere_.peak_rss_bytes)};
  }

  static RunObserver observer(Progress& progress, DownloadDisplay& downloads) {
    return {[&](const HeadEvent& event) {
              if (event.failure != nullptr) {
                progress.failure(head_line(event));
              } else {
                progress.advance(event.ended, event.total, head_line(event));
              }
            },
            [&](const std::string& note) { progress.note(note); },
            [&](const std::string& warning) { progress.warning(warning); },
            [&](const DownloadProgress& now) { downloads.show_beside(now); }};
  }

  std::string how_to_resume() const { return fmt::format("to go on: {}\n", resume_command(arguments_)); }

  // Keeps the finished heads. A failure that ended the run has a message of its own.
  int interrupted(const RunResult& result, const std::vector<std::string>& files) const {
    if (!result.results.empty()) {
      tell(fmt::format("interrupted: {} of {} heads are in {}\n{}", result.results.size(), prepared().tasks.size(),
                       files.front(), how_to_resume()));
    } else if (!result.failure) {
      tell("interrupted before any head was finished\n");
    }
    if (result.failure) std::rethrow_exception(result.failure);
    return 128 + interruption_.signal();
  }

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const AnalyzeFlags& flags_;
  const Arguments& arguments_;
  const StoredOutput* output_;
  EngineProcess* engine_;
  EngineCost elsewhere_;
  int workers_;
  Verbosity verbosity_;
  Terminal terminal_;
  const StopOnSignal& interruption_;
  std::optional<Shard> shard_;
  DumpRun run_;
};

}  // namespace

Command analyze_command() {
  Command command{"analyze", "", "Measure every head of a dump and write the tables.", {}};
  command.flags.push_back(config_flag("YAML file with any of the fields below; flags win over it."));
  for (const Field& flag : analyze_table()) command.flags.push_back(flag);
  for (const Field& flag : engine_table()) command.flags.push_back(flag);
  command.flags.insert(command.flags.end(), config_fields().begin(), config_fields().end());
  command.examples = {
      {"attention-plasticity analyze --dataset_local_root DUMP -o out/mine", "Measure a dump on disk."},
      {"attention-plasticity analyze --config run.yaml --layers 0-3 --dry-run", "See what a run would do."},
      {"attention-plasticity analyze --dataset_name ORG/NAME --dataset_revision BRANCH -o out/hub",
       "Measure a dump on the Hugging Face Hub."},
      {"attention-plasticity analyze --dataset_local_root DUMP -o out/mine --resume",
       "Go on with a run that ended early."},
      {"attention-plasticity analyze --dataset_local_root DUMP --shard 1/2 -o out/shard-1",
       "Measure the first of two shards; merge puts them together."},
      {"attention-plasticity analyze --dataset_local_root DUMP -o out/mine --engine ray --address HOST:6379",
       "Measure on the nodes of a Ray cluster."},
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
  const EngineFlags engine_flags = options_of(engine_table(), arguments);
  check_engine(flags, engine_flags);
  std::vector<Setting> settings = configured_settings(arguments, config_fields());
  const std::unique_ptr<StoredOutput> output = stored_output(settings);
  const RunConfig config = resolve_config(settings);
  if (output && !flags.dry_run) output->make_folder(files_to_bring(flags));
  const Terminal terminal = Terminal::of_standard_error();
  const Verbosity verbosity = verbosity_of(flags.quiet, flags.progress, terminal);
  StopOnSignal interruption([&] {
    if (verbosity == Verbosity::quiet) return;
    // Clears the bar, into which the terminal has echoed ^C. The bar is drawn again below.
    if (verbosity == Verbosity::bar) redraw("");
    tell("stopping; finished heads are saved; interrupt again to quit at once\n");
  });
  try {
    const std::unique_ptr<EngineProcess> engine =
        flags.dry_run ? nullptr : started_engine(engine_flags, interruption.token());
    return Analysis(flags, arguments, config, output.get(), engine.get(), verbosity, terminal, interruption).run();
  } catch (const Stopped&) {
    tell("interrupted before any head was finished\n");
    return 128 + interruption.signal();
  }
}

}  // namespace attention_plasticity

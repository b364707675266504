#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>

#include "attention_plasticity/base/printable.h"
#include "attention_plasticity/base/stop_scope.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/base/text_table.h"
#include "attention_plasticity/base/usable_cores.h"
#include "attention_plasticity/cli/commands.h"
#include "attention_plasticity/cli/engine_flags.h"
#include "attention_plasticity/cli/fetching.h"
#include "attention_plasticity/cli/flag_text.h"
#include "attention_plasticity/cli/machine.h"
#include "attention_plasticity/cli/output_locks.h"
#include "attention_plasticity/cli/progress.h"
#include "attention_plasticity/cli/signals.h"
#include "attention_plasticity/cli/terminal.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/hub/hub_client.h"
#include "attention_plasticity/options/config_fields.h"
#include "attention_plasticity/sweep/sweep_run.h"

namespace attention_plasticity {
namespace {

struct SweepFlags {
  bool dry_run = false;
  bool quiet = false;
  bool progress = true;
};

const FieldTable<SweepFlags>& sweep_table() {
  static const FieldTable<SweepFlags> table{
      {"dry_run", values::boolean(), &SweepFlags::dry_run, "Print the runs and which of them are done, and stop."},
      {"quiet", values::boolean(), &SweepFlags::quiet, "Print failures and warnings only."},
      {"progress", values::boolean(), &SweepFlags::progress,
       "Redraw a progress bar on a terminal; --no-progress prints a line for each run."},
  };
  return table;
}

// Fields that the command line may set for all runs.
const std::vector<Field>& shared_fields() {
  static const std::vector<Field> fields = [] {
    std::vector<Field> chosen;
    for (const Field& field : config_fields()) {
      if (field.name == "output_dir" || field.name == "overwrite" || field.group == "The machine") {
        chosen.push_back(field);
      }
    }
    return chosen;
  }();
  return fields;
}

class SweepWork {
 public:
  SweepWork(Sweep sweep, const SweepFlags& flags, EngineProcess* engine, const HubSettings& hub,
            const StopOnSignal& interruption)
      : sweep_(std::move(sweep)),
        terminal_(Terminal::of_standard_error()),
        verbosity_(verbosity_of(flags.quiet, flags.progress, terminal_)),
        engine_(engine),
        hub_(hub),
        interruption_(interruption) {}

  int dry_run() const {
    int code = 0;
    for (const SweepRun& run : sweep_.runs) {
      try {
        const SweepForecast known = forecast(run, hub_, interruption_.token());
        print_line(fmt::format("{}: {}; {} of {}", run.name, known.is_complete ? "done" : "to do",
                               counted_text(known.heads, "head"), known.dump));
      } catch (const Error& error) {
        tell_line(failure_line(
            run.name, error.file().empty() ? error.what() : fmt::format("{}: {}", error.file(), error.what())));
        code = some_heads_failed;
      }
    }
    print_line(fmt::format("# {}, below {}", counted_text(sweep_.runs.size(), "run"), sweep_.output_dir));
    return code;
  }

  int run() {
    const std::filesystem::path folder = sweep_.output_dir;
    const std::vector<std::string> files{(folder / sweep_csv_name).string(), (folder / sweep_json_name).string()};
    const std::vector<FolderLock> locks = locked_outputs(files);
    begin(folder);
    for (std::size_t i = 0; i < sweep_.runs.size(); ++i) {
      SweepOutcome outcome = measure(i);
      if (outcome.interrupted) return interrupted();
      tell_of(i, outcome);
      if (outcome.error && !first_error_) first_error_ = outcome.error;
      index_[i] = std::move(outcome.run);
      write_sweep_index(folder, index_);
    }
    return finished(files);
  }

 private:
  // Names of runs are names of folders and branches, which may hold line feeds.
  static void print_line(const std::string& line) { print(printable_text(line) + "\n"); }

  static std::string failure_line(const std::string& name, const std::string& why) {
    return fmt::format("{} failed: {}", name, why);
  }

  // The index as it was left, for the runs that are still part of the sweep.
  void begin(const std::filesystem::path& folder) {
    std::vector<IndexedRun> earlier;
    try {
      earlier = read_sweep_index(folder).value_or(std::vector<IndexedRun>());
    } catch (const Error& error) {
      tell_line(fmt::format("warning: {}: {}; it is written anew", error.file(), error.what()));
    }
    for (const SweepRun& run : sweep_.runs) {
      const auto known = std::ranges::find(earlier, run.name, &IndexedRun::name);
      index_.push_back(known == earlier.end() ? indexed(run) : *known);
    }
    write_sweep_index(folder, index_);
  }

  SweepOutcome measure(std::size_t number) {
    const SweepRun& run = sweep_.runs[number];
    const auto start = std::chrono::steady_clock::now();
    const double cpu = cpu_seconds();
    Progress progress(verbosity_, terminal_, "heads");
    DownloadDisplay downloads(progress);
    progress.set_status(fmt::format("run {}/{}: {}", number + 1, sweep_.runs.size(), run.name));
    SweepMeans means;
    means.workers = run.config.max_workers.value_or(usable_cores());
    means.hub = hub_;
    if (engine_ != nullptr) means.engine = function_of(*engine_);
    means.resources = [&](const EngineCost& elsewhere) -> RunResources {
      const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      return {means.workers, wall, cpu_seconds() - cpu + elsewhere.cpu_s,
              std::max(peak_rss_bytes(), elsewhere.peak_rss_bytes)};
    };
    const auto named = [&](const std::string& line) { return fmt::format("{}: {}", run.name, line); };
    const RunObserver observer{
        [&](const HeadEvent& event) {
          // A bar for the heads of this run; in plain mode there is a line for each run.
          if (event.failure == nullptr && verbosity_ != Verbosity::bar) return;
          if (event.failure == nullptr) return progress.advance(event.ended, event.total, "");
          progress.failure(named(fmt::format("layer {} q_head {} failed: {}: {}", event.head.layer, event.head.q_head,
                                             event.failure->file, event.failure->message)));
        },
        [&](const std::string& note) { progress.note(named(note)); },
        [&](const std::string& warning) { progress.warning(named(warning)); },
        [&](const DownloadProgress& now) { downloads.show_beside(now); }};
    return do_sweep_run(run, means, observer, interruption_.token());
  }

  void tell_of(std::size_t number, const SweepOutcome& outcome) const {
    const IndexedRun& run = outcome.run;
    const std::string place = fmt::format("[{}/{}] ", number + 1, sweep_.runs.size());
    if (run.state == SweepState::failed) {
      tell_failure(place + failure_line(run.name, run.message), terminal_);
    } else if (verbosity_ != Verbosity::quiet) {
      tell_line(fmt::format("{}{}: {}{}", place, run.name, counted_text(run.heads_done, "head"),
                            outcome.was_complete ? ", done before" : ""));
    }
  }

  int interrupted() const {
    const auto done = std::ranges::count(index_, SweepState::done, &IndexedRun::state);
    tell(fmt::format("interrupted: {} of {} are done; the same command goes on\n", done,
                     counted_text(sweep_.runs.size(), "run")));
    return 128 + interruption_.signal();
  }

  int finished(const std::vector<std::string>& files) const {
    const auto failed = static_cast<std::size_t>(std::ranges::count(index_, SweepState::failed, &IndexedRun::state));
    const bool heads_failed = std::ranges::any_of(index_, [](const IndexedRun& run) { return run.heads_failed > 0; });
    if (verbosity_ != Verbosity::quiet) {
      print_line(fmt::format("{} of {} done, {} failed: {}", index_.size() - failed, counted_text(index_.size(), "run"),
                             failed, files.front()));
    }
    if (failed == index_.size() && first_error_) return exit_code(*first_error_);
    return failed > 0 || heads_failed ? some_heads_failed : 0;
  }

  Sweep sweep_;
  Terminal terminal_;
  Verbosity verbosity_;
  EngineProcess* engine_;
  const HubSettings& hub_;
  const StopOnSignal& interruption_;
  std::vector<IndexedRun> index_;
  std::optional<ErrorKind> first_error_;
};

}  // namespace

Command sweep_command() {
  Command command{"sweep", "FILE.yaml", "Measure many dumps or checkpoints, each in a folder of its own.", {}};
  for (const Field& flag : sweep_table()) command.flags.push_back(flag);
  for (const Field& flag : engine_table()) command.flags.push_back(flag);
  command.flags.insert(command.flags.end(), shared_fields().begin(), shared_fields().end());
  command.examples = {
      {"attention-plasticity sweep sweep.yaml", "Do the runs of a sweep; the same command goes on with it."},
      {"attention-plasticity sweep sweep.yaml --dry-run", "See which runs it has, and which of them are done."},
      {"attention-plasticity compare --series out/sweep", "Follow heads through the finished runs of a sweep."},
  };
  return command;
}

int run_sweep(const Arguments& arguments) {
  const std::string& file = arguments.only_positional("sweep takes one YAML file with the runs: sweep.yaml");
  const SweepFlags flags = options_of(sweep_table(), arguments);
  const EngineFlags engine_flags = options_of(engine_table(), arguments);
  std::vector<Setting> shared;
  for (const Setting& flag : arguments.flags) {
    if (find_field(shared_fields(), flag.field) != nullptr) shared.push_back(flag);
  }
  StopOnSignal interruption([&] {
    if (!flags.quiet) tell("stopping after the heads in progress; interrupt again to quit at once\n");
  });
  try {
    const HubSettings hub = process_hub_settings();
    Sweep sweep = read_sweep(file, shared,
                             [&](const std::string& repo) { return HubClient(hub, repo).refs(interruption.token()); });
    const std::unique_ptr<EngineProcess> engine =
        flags.dry_run ? nullptr : started_engine(engine_flags, interruption.token());
    SweepWork work(std::move(sweep), flags, engine.get(), hub, interruption);
    return flags.dry_run ? work.dry_run() : work.run();
  } catch (const Stopped&) {
    tell("interrupted before any run was finished\n");
    return 128 + interruption.signal();
  }
}

}  // namespace attention_plasticity

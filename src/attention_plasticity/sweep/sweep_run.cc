#include "attention_plasticity/sweep/sweep_run.h"

#include <fmt/format.h>

#include "attention_plasticity/base/stop_scope.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/run/dump_run.h"
#include "attention_plasticity/run/results.h"

namespace attention_plasticity {
namespace {

HubSettings hub_of(const SweepRun& run, const HubSettings& hub) {
  return run.config.dataset_local_root ? HubSettings{} : hub;
}

class OneRun {
 public:
  OneRun(const SweepRun& run, const SweepMeans& means, const RunObserver& observer, const std::stop_token& stop)
      : own_(run), means_(means), observer_(observer), stop_(stop), run_(run.config, hub_of(run, means.hub), stop) {}

  SweepOutcome outcome() {
    SweepOutcome outcome{indexed(own_), false, false, {}};
    const std::vector<FolderLock> locks = lock_outputs(prepared(), config());
    check_outputs(prepared(), config());
    run_.decide_rotation(observer_, stop_);
    outcome.was_complete = are_results_complete(prepared(), config());
    if (!outcome.was_complete) {
      const RunResult result = measured();
      if (result.interrupted && !result.failure) {
        outcome.interrupted = true;
        return outcome;
      }
      if (result.failure) std::rethrow_exception(result.failure);
      const std::vector<std::string> files = write_results(prepared(), config(), result, means_.resources(elsewhere_));
      if (result.results.empty()) throw Error(ErrorKind::input, "every head failed; it lists why", files.back());
      if (result.failures.empty()) run_.remove_saved();
      if (!result.failures.empty()) {
        const HeadFailure& first = result.failures.front();
        outcome.run.message =
            fmt::format("{} failed; the first, layer {} q_head {}: {}", counted_text(result.failures.size(), "head"),
                        first.head.layer, first.head.q_head, first.message);
      }
    }
    if (outcome.was_complete) remove_saved_heads(saved_heads_folder(config()));
    add_figures(outcome.run, run_json_path(config()));
    outcome.run.state = SweepState::done;
    return outcome;
  }

 private:
  const PreparedRun& prepared() const { return run_.prepared(); }
  const RunConfig& config() const { return run_.config(); }

  RunResult measured() {
    const std::filesystem::path folder = saved_heads_folder(config());
    try {
      return measured({folder, true});
    } catch (const Error& error) {
      // Heads of an earlier run, of other files or options.
      if (error.kind() != ErrorKind::usage || error.file() != folder.string()) throw;
      return measured({folder, false});
    }
  }

  RunResult measured(const SavedHeads::Options& save) {
    return run_.measure(means_.workers, observer_, stop_, save, means_.engine, &elsewhere_);
  }

  const SweepRun& own_;
  const SweepMeans& means_;
  const RunObserver& observer_;
  const std::stop_token& stop_;
  DumpRun run_;
  EngineCost elsewhere_;
};

}  // namespace

IndexedRun indexed(const SweepRun& run) {
  IndexedRun entry;
  entry.name = run.name;
  entry.folder = run.name;
  return entry;
}

SweepOutcome do_sweep_run(const SweepRun& run, const SweepMeans& means, const RunObserver& observer,
                          const std::stop_token& stop) {
  SweepOutcome outcome{indexed(run), false, false, {}};
  try {
    return OneRun(run, means, observer, stop).outcome();
  } catch (const Stopped&) {
    outcome.interrupted = true;
  } catch (const Error& error) {
    outcome.run.state = SweepState::failed;
    outcome.run.message = error.file().empty() ? error.what() : fmt::format("{}: {}", error.file(), error.what());
    outcome.error = error.kind();
  }
  return outcome;
}

SweepForecast forecast(const SweepRun& run, const HubSettings& hub, const std::stop_token& stop) {
  DumpRun prepared(run.config, hub_of(run, hub), stop);
  if (prepared.missing_files().empty()) prepared.decide_rotation({}, stop);
  check_earlier_results(prepared.prepared(), prepared.config());
  return {prepared.prepared().layout.folder.string(), prepared.prepared().tasks.size(),
          are_results_complete(prepared.prepared(), prepared.config())};
}

}  // namespace attention_plasticity

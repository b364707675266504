#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "attention_plasticity/analyze_dump.h"
#include "attention_plasticity/run/engine.h"
#include "attention_plasticity/sweep/sweep_file.h"
#include "attention_plasticity/sweep/sweep_index.h"

namespace attention_plasticity {

/// Settings that all runs of a sweep share.
struct SweepMeans {
  int workers = 1;
  HubSettings hub = {};
  Engine engine = {};  ///< empty: this process measures
  /// Returns the cost of a run, given that of other processes. The library reads no clock.
  std::function<RunResources(const EngineCost&)> resources = {};
};

/// The outcome of one run.
struct SweepOutcome {
  IndexedRun run;
  bool was_complete = false;       ///< its results stood there already
  bool interrupted = false;        ///< a stop was requested; its finished heads are kept
  std::optional<ErrorKind> error;  ///< of a run that failed as a whole
};

/// The entry of a run in the index before it is measured.
IndexedRun indexed(const SweepRun& run);

/// Measures a run of a sweep, unless its folder has the results of this program, files and configuration already. Uses
/// the saved heads of an earlier attempt at this run. Does not throw Error: the outcome contains it.
SweepOutcome do_sweep_run(const SweepRun& run, const SweepMeans& means, const RunObserver& observer,
                          const std::stop_token& stop);

/// The heads of a run, and whether it is complete, without measuring.
struct SweepForecast {
  std::string dump;
  std::size_t heads = 0;
  bool is_complete = false;
};

/// Throws Error as DumpRun does.
SweepForecast forecast(const SweepRun& run, const HubSettings& hub, const std::stop_token& stop);

}  // namespace attention_plasticity

#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "attention_plasticity/analyze_dump.h"
#include "attention_plasticity/run/heads_elsewhere.h"
#include "attention_plasticity/run/part_engine.h"
#include "attention_plasticity/sweep/sweep_file.h"
#include "attention_plasticity/sweep/sweep_index.h"

namespace attention_plasticity {

/// How the runs of a sweep are measured.
struct SweepMeans {
  int workers = 1;
  HubSettings hub = {};
  PartEngine engine = {};  ///< empty: this process measures
  /// What a run cost, given what other processes took. The library reads no clock.
  std::function<RunResources(const CostElsewhere&)> resources = {};
};

/// What became of a run.
struct SweepOutcome {
  IndexedRun run;
  bool was_complete = false;       ///< its results stood there already
  bool interrupted = false;        ///< a stop was requested; its finished heads are kept
  std::optional<ErrorKind> error;  ///< of a run that failed as a whole
};

/// What the index says of a run before it was looked at.
IndexedRun indexed(const SweepRun& run);

/// Does a run of a sweep, unless its results stand in its folder already: the same program, files and configuration.
/// Heads that an earlier try kept are used, if they are of the same run. Does not throw Error: the outcome tells.
SweepOutcome do_sweep_run(const SweepRun& run, const SweepMeans& means, const RunObserver& observer,
                          const std::stop_token& stop);

/// What is known of a run without measuring: heads to measure, or that it is complete.
struct SweepForecast {
  std::string dump;
  std::size_t heads = 0;
  bool is_complete = false;
};

/// Throws Error as DumpRun does.
SweepForecast forecast(const SweepRun& run, const HubSettings& hub, const std::stop_token& stop);

}  // namespace attention_plasticity

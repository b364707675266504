#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "attention_plasticity/hub.h"
#include "attention_plasticity/run/analysis_run.h"
#include "attention_plasticity/run/config.h"
#include "attention_plasticity/run/heads_elsewhere.h"
#include "attention_plasticity/run/hub_dump.h"
#include "attention_plasticity/run/kept_heads.h"
#include "attention_plasticity/run/part_engine.h"
#include "attention_plasticity/run/prepared_run.h"
#include "attention_plasticity/run/run_plan.h"
#include "attention_plasticity/run/shard.h"

namespace attention_plasticity {

/// Which part of a run is measured here, and what is known of the whole.
struct RunPart {
  std::optional<Shard> shard = {};   ///< none: all heads
  std::optional<RunPlan> plan = {};  ///< what was decided for all shards beforehand
};

/// A whole run over a dump, or a shard of it, on disk or on the Hub: finds the heads, fetches what is missing,
/// measures.
class DumpRun {
 public:
  /// Finds the dump and its heads. `hub` is used when the configuration names no dump on disk. Throws Error as HubDump
  /// and prepare_run do, Error(usage) when the plan is of another run, and Stopped.
  DumpRun(RunConfig config, const HubSettings& hub, const std::stop_token& stop, RunPart part = {});

  const RunConfig& config() const { return config_; }
  const PreparedRun& prepared() const { return prepared_; }
  /// One line each for the user; those of the look-up on the Hub come first.
  std::vector<std::string> notes() const;
  /// Such as "80 files of org/name at main (commit 0123456789ab), 3.4 GiB"; empty when nothing is missing on disk.
  std::string missing_files() const;

  /// The heads that are measured here: those of the shard, or all.
  std::vector<HeadTask> tasks() const;

  /// Fetches and measures all heads on `workers` threads. Tells the observer the notes and warnings first. Throws what
  /// ends the run before any head is measured. With `keep`, heads are kept as they end; throws as KeptHeads does.
  RunResult measure(int workers, const RunObserver& observer, const std::stop_token& stop,
                    const std::optional<KeepOptions>& keep = {});
  /// The same, with heads measured by an engine: other processes, which must see the dump under the same path. Files of
  /// the Hub are fetched first. `workers`: threads for what is left to this process. Adds to `cost`.
  RunResult measure_by(const PartEngine& engine, int workers, const RunObserver& observer, const std::stop_token& stop,
                       CostElsewhere& cost, const std::optional<KeepOptions>& keep = {});
  /// The same as `measure` for tasks(), without what depends on the heads of other shards.
  HeadOutcomes measure_part(int workers, const RunObserver& observer, const std::stop_token& stop,
                            const std::optional<KeepOptions>& keep = {});
  /// Fetches all files, and decides what depends on all of them. Throws as `measure` does.
  RunPlan make_plan(const RunObserver& observer, const std::stop_token& stop);
  /// Removes the heads that `measure` kept, whose results are written.
  void forget_kept();

 private:
  PreparedRun prepare() const;
  // Tells the observer what is known, brings all files if the rotation depends on them, and opens the kept heads.
  void begin(const RunObserver& told, const std::stop_token& stop, const std::optional<KeepOptions>& keep);
  void fetch_all(const RunObserver& told, const std::stop_token& stop);
  // Calls `work` with the means to measure `tasks`, while files that are still missing are fetched.
  void with_files(std::span<const HeadTask> tasks, int workers, const RunObserver& told, const std::stop_token& stop,
                  const std::function<void(const RunMeans&)>& work);

  RunConfig config_;
  RunPart part_;
  std::unique_ptr<HubDump> dump_;  // null: the dump is on disk
  PreparedRun prepared_;
  std::vector<RepoFile> missing_;    // needed, and only on the Hub so far
  std::unique_ptr<KeptHeads> kept_;  // null: no heads are kept
};

}  // namespace attention_plasticity

#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "attention_plasticity/hub.h"
#include "attention_plasticity/options/config.h"
#include "attention_plasticity/outcomes/saved_heads.h"
#include "attention_plasticity/outcomes/shard.h"
#include "attention_plasticity/run/analysis_run.h"
#include "attention_plasticity/run/engine.h"
#include "attention_plasticity/source/hub_dump.h"
#include "attention_plasticity/source/prepared_run.h"

namespace attention_plasticity {

/// A whole run over a dump, or a shard of it, on disk, in a store or on the Hub: finds the heads, fetches what is
/// missing, measures.
class DumpRun {
 public:
  /// Finds the dump and its heads. `hub` is used when the configuration names no dump on disk. Throws Error as HubDump
  /// and prepare_run do, and Stopped.
  DumpRun(RunConfig config, const HubSettings& hub, const std::stop_token& stop, std::optional<Shard> shard = {});

  const RunConfig& config() const { return config_; }
  const PreparedRun& prepared() const { return prepared_; }
  /// One line each for the user; those of the look-up on the Hub come first.
  std::vector<std::string> notes() const;
  /// Describes the files to fetch, such as "80 files of org/name at main (commit 0123456789ab), 3.4 GiB"; empty when
  /// nothing is missing on disk.
  std::string missing_files() const;

  /// The heads that are measured here: those of the shard, or all.
  std::vector<HeadTask> tasks() const;

  /// Decides the rotation, where that follows from rows, as `measure` does first. Reports what it finds.
  void decide_rotation(const RunObserver& observer, const std::stop_token& stop);
  /// Decides all that follows from rows, as `measure` does first. Reports what it finds.
  void decide(const RunObserver& observer, const std::stop_token& stop);
  /// Fetches and measures all heads on `workers` threads. Reports notes and warnings first. Throws what ends the run
  /// before any head is measured. With `save`, heads are saved as they end; throws as SavedHeads does. With an engine,
  /// other processes measure the heads: they must see the dump under the same path, and files of the Hub are fetched
  /// first; `cost` then gets what it took.
  RunResult measure(int workers, const RunObserver& observer, const std::stop_token& stop,
                    const std::optional<SavedHeads::Options>& save = {}, const Engine& engine = {},
                    EngineCost* cost = nullptr);
  /// Measures and saves the heads of tasks(), without concluding the run.
  HeadOutcomes measure_shard(int workers, const RunObserver& observer, const std::stop_token& stop,
                             const SavedHeads::Options& save);
  /// Takes the prepared run, with a record of the files it was measured from in place of its source.
  PreparedRun take_prepared();
  /// Removes the heads that `measure` saved, whose results are in place.
  void remove_saved();

 private:
  void begin(const RunObserver& told, const std::stop_token& stop, const std::optional<SavedHeads::Options>& save);
  void fetch_all(const RunObserver& told, const std::stop_token& stop);
  // In the order in which they are read.
  std::vector<HeadSide> sides_to_read() const;

  RunConfig config_;
  std::optional<Shard> shard_;
  std::unique_ptr<HubDump> dump_;  // null: the dump is on disk or in a store
  PreparedRun prepared_;
  std::vector<RepoFile> missing_;      // needed, and only on the Hub so far
  std::unique_ptr<SavedHeads> saved_;  // null: no heads are saved
};

}  // namespace attention_plasticity

#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "attention_plasticity/hub.h"
#include "attention_plasticity/run/analysis_run.h"
#include "attention_plasticity/run/config.h"
#include "attention_plasticity/run/hub_dump.h"
#include "attention_plasticity/run/prepared_run.h"

namespace attention_plasticity {

/// A whole run over a dump, on disk or on the Hub: finds the heads, fetches what is missing, measures.
class DumpRun {
 public:
  /// Finds the dump and its heads. `hub` is used when the configuration names no dump on disk. Throws Error as HubDump
  /// and prepare_run do, and Stopped.
  DumpRun(RunConfig config, const HubSettings& hub, const std::stop_token& stop);

  const RunConfig& config() const { return config_; }
  const PreparedRun& prepared() const { return prepared_; }
  /// One line each for the user; those of the look-up on the Hub come first.
  std::vector<std::string> notes() const;
  /// Such as "80 files of org/name at main (commit 0123456789ab), 3.4 GiB"; empty when nothing is missing on disk.
  std::string missing_files() const;

  /// Fetches and measures on `workers` threads. Tells the observer the notes and warnings first. Throws what ends the
  /// run before any head is measured.
  RunResult measure(int workers, const RunObserver& observer, const std::stop_token& stop);

 private:
  RunConfig config_;
  std::unique_ptr<HubDump> dump_;  // null: the dump is on disk
  PreparedRun prepared_;
  std::vector<RepoFile> missing_;  // needed, and only on the Hub so far
};

}  // namespace attention_plasticity

#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "attention_plasticity/hub/downloads.h"
#include "attention_plasticity/hub/settings.h"
#include "attention_plasticity/hub/snapshot.h"
#include "attention_plasticity/run/config.h"
#include "attention_plasticity/run/plan.h"

namespace attention_plasticity {

/// A dump on the Hub, of which only the files that a run needs are fetched.
class HubDump {
 public:
  /// Finds the dataset, revision and heads that the configuration names, and fetches the small files that describe
  /// them: config.json, _saver_state.json, README.md, head_labels.csv. Throws Error as Snapshot and Downloads do, and
  /// Error(input) for a revision without heads, with the branches that there are.
  HubDump(const RunConfig& config, const HubSettings& settings, const std::stop_token& stop);

  const Snapshot& snapshot() const { return snapshot_; }
  /// What a run can be planned from. Notes of the look-up come first in the plan's.
  DumpSource source() const;
  const std::vector<std::string>& notes() const { return notes_; }

  /// The files of a task that the dump has, as the repository names them: the queries, the keys.
  std::vector<std::string> files_of(const HeadTask& task) const;
  /// Those of all tasks that are not on disk, in the order in which a run takes them. Throws Error(output) when they do
  /// not fit there.
  std::vector<RepoFile> missing_files(const RunPlan& plan, const std::stop_token& stop);

 private:
  DumpLayout find_layout(const RunConfig& config, const std::stop_token& stop);
  void fetch_descriptions(const RunConfig& config, const std::stop_token& stop);

  std::vector<std::string> notes_;
  Snapshot snapshot_;
  DumpLayout layout_;
};

}  // namespace attention_plasticity

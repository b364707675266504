#pragma once

#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "attention_plasticity/hub.h"
#include "attention_plasticity/hub/downloads.h"
#include "attention_plasticity/hub/snapshot.h"
#include "attention_plasticity/options/config.h"
#include "attention_plasticity/source/head_source.h"

namespace attention_plasticity {

/// Such as "80 files of org/name at main (commit 0123456789ab), 3.4 GiB".
std::string described_files(const Snapshot& snapshot, const std::vector<RepoFile>& files);

/// A dump on the Hub. Only the files that a run needs are downloaded.
class HubDump {
 public:
  /// Finds the dataset, revision and heads that the configuration names, and downloads the small files that describe
  /// them: config.json, _saver_state.json, head_labels.csv, unless they are too large. Throws Error as Snapshot and
  /// Downloads do, and Error(input), with the names of the branches, for a revision without heads.
  HubDump(const RunConfig& config, const HubSettings& settings, const std::stop_token& stop);

  const Snapshot& snapshot() const { return snapshot_; }
  /// The heads of the dataset, with files that may still be on the Hub alone.
  const DumpLayout& layout() const { return layout_; }
  /// Notes of the look-up, for the user; they come before those of prepare_run.
  const std::vector<std::string>& notes() const { return notes_; }

  /// The path in the repository of the file of a side; none if the dump does not have it.
  std::optional<std::string> path(const HeadSide& side) const;
  /// Those files of the repository that are not on disk yet, in the order of `paths`. Throws Error(output) when the
  /// disk has too little space for them.
  std::vector<RepoFile> missing(const std::vector<std::string>& paths, const std::stop_token& stop);
  /// The missing files of sides, in their order.
  std::vector<RepoFile> missing(std::span<const HeadSide> sides, const std::stop_token& stop);

 private:
  DumpLayout find_layout(const RunConfig& config, const std::stop_token& stop);
  void verify(const RunConfig& config, const std::stop_token& stop);
  std::vector<std::string> description_paths() const;
  void fetch_descriptions(const RunConfig& config, const std::stop_token& stop);

  std::vector<std::string> notes_;
  Snapshot snapshot_;
  DumpLayout layout_;
};

}  // namespace attention_plasticity

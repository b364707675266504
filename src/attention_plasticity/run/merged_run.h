#pragma once

#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "attention_plasticity/run/analysis_run.h"
#include "attention_plasticity/run/shard.h"

namespace attention_plasticity {

/// How shards are put together.
struct MergeOptions {
  std::string output_dir;
  bool overwrite = false;                              ///< as in RunConfig
  std::optional<std::string> dataset_local_root = {};  ///< where the dump is now; none: where the shards found it
  int workers = 1;                                     ///< threads, where heads must be measured again
};

/// The shards of a run, put together. What it writes is what one run over all heads would have written.
class MergedRun {
 public:
  /// Reads the shards, in any order. Throws Error(input) when a folder holds no whole shard. Throws Error(usage),
  /// naming the folders, when shards are missing, doubled, of different runs or of another version of the program.
  MergedRun(const std::vector<std::filesystem::path>& shards, MergeOptions options);

  const PreparedRun& prepared() const { return prepared_; }
  const RunConfig& config() const { return config_; }

  /// The results of the run. Heads that have other documents than the rest, and whose shard did not know those of all,
  /// are measured again from the dump: throws Error(input) when it cannot be found, or holds other files by now. Throws
  /// as concluded_run does.
  RunResult result(const RunObserver& observer, const std::stop_token& stop);

  /// What the run cost: that of all shards and of the merge.
  RunResources resources(const RunResources& merge) const;

 private:
  void check_shards() const;
  void check_same_run() const;
  void check_heads() const;
  void resolve();
  void find_dump();
  bool is_dump_there() const;
  void check_unchanged(const HeadTask& task) const;

  MergeOptions options_;
  std::vector<ShardRecord> shards_;  // by number
  PreparedRun prepared_;
  RunConfig config_;
  std::vector<std::string> warnings_;
};

}  // namespace attention_plasticity

#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/analyze_dump.h"
#include "attention_plasticity/run/config.h"
#include "attention_plasticity/run/head_outcome.h"
#include "attention_plasticity/run/prepared_run.h"

namespace attention_plasticity {

/// A part of a run: the third of 16.
struct Shard {
  std::size_t number = 1;  ///< from 1 to count
  std::size_t count = 1;

  /// "3/16". Throws Error(usage) for what is not a shard.
  static Shard of(std::string_view text);
  std::string text() const;
};

/// The tasks of a shard, in order. Tasks with the same keys stay together. The groups are balanced by the rows of their
/// files, in a store by their bytes, and where they are still on the Hub, by their heads: the largest group goes to the
/// shard that has least so far. All shards together are the run; a shard is empty when there are more shards than
/// groups.
std::vector<HeadTask> shard_tasks(const PreparedRun& prepared, const Shard& shard);

/// What a shard leaves for `merge`.
struct ShardRecord {
  Shard shard;
  std::string manifest;  ///< of the whole run: run_manifest.h
  std::vector<HeadOutcome> heads;
  std::string host = {};
  RunResources resources = {};
  std::string folder = {};  ///< where it was read
};

/// The path of shard.json: beside where the run's run.json would be.
std::string shard_json_path(const RunConfig& config);

/// Throws Error(usage) when the folder holds a shard of another run, or another shard of this one, unless `overwrite`
/// is true.
void check_earlier_shard(const PreparedRun& prepared, const RunConfig& config, const Shard& shard);

/// Whether the folder holds this shard of this run already, without failed heads.
bool is_shard_complete(const PreparedRun& prepared, const RunConfig& config, const Shard& shard);

/// Writes shard.heads and shard.json, which names it with its SHA-256, both or none; returns both paths. The caller
/// holds the lock of the folder (lock_outputs). Throws Error(output).
std::vector<std::string> write_shard(const ShardRecord& record, const RunConfig& config);

/// Reads what write_shard wrote. Throws Error(input) when there is no shard in the folder or it is damaged.
ShardRecord read_shard(const std::filesystem::path& folder);

}  // namespace attention_plasticity

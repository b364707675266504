#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/analyze_dump.h"
#include "attention_plasticity/options/config.h"
#include "attention_plasticity/outcomes/saved_heads.h"
#include "attention_plasticity/source/prepared_run.h"

namespace attention_plasticity {

/// One of `count` shards of a run: the third of 16.
struct Shard {
  std::size_t number = 1;  ///< from 1 to count
  std::size_t count = 1;

  /// Parses "3/16". Throws Error(usage) for what is not a shard.
  static Shard of(std::string_view text);
  std::string text() const;
};

/// Returns the tasks of a shard, in order. Tasks with the same keys stay together. These KV groups are balanced by the
/// rows of their files, in a store by their bytes, and where they are still on the Hub, by their heads: the largest
/// goes to the shard that has least so far. All shards together are the run; a shard is empty when there are more
/// shards than KV groups.
std::vector<HeadTask> shard_tasks(const PreparedRun& prepared, const Shard& shard);

/// A shard that is complete: a folder that holds its saved heads, in `heads`, and shard.json.
struct SavedShard {
  Shard shard;
  SavedRun heads;
  std::string host = {};
  RunResources resources = {};
  std::string folder = {};  ///< where it was read
};

/// The path of shard.json: beside where the run's run.json would be.
std::string shard_json_path(const RunConfig& config);
/// The folder of a shard's saved heads: beside shard.json.
std::filesystem::path shard_heads_folder(const RunConfig& config);
/// The files of a shard that show whether it is complete, below its folder.
std::vector<std::string> shard_record_files();

/// Throws Error(usage) when the folder holds a shard of another run, or another shard of this one, unless `overwrite`
/// is true.
void check_earlier_shard(const PreparedRun& prepared, const RunConfig& config, const Shard& shard);

/// Returns true if the folder holds this shard of this decided run, without failed heads. `are_heads_here`: the heads
/// are read, and a damaged one is missed; otherwise shard.json is believed, as of a shard in a store.
bool is_shard_complete(const PreparedRun& prepared, const RunConfig& config, const Shard& shard, bool are_heads_here);

/// Completes a shard whose heads are saved: writes shard.json. Returns the files of the shard, shard.json last. Throws
/// Error(output).
std::vector<std::string> write_shard(const RunConfig& config, const Shard& shard, std::size_t done, std::size_t failed,
                                     const std::string& host, const RunResources& resources);

/// Reads a complete shard. Throws Error(input) when there is none in the folder or a head of it is damaged.
SavedShard read_shard(const std::filesystem::path& folder);

}  // namespace attention_plasticity

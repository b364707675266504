#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "attention_plasticity/run/finished_run.h"

namespace attention_plasticity {

/// Merges the shards of a run, in any order: the results are those of one run over all heads. Only the shards are read;
/// outputs go below `output_dir`, whatever the shards say. Reports to `observer`. Throws Error(input) when a folder
/// holds no whole shard, and Error(usage), naming the folders, when shards are missing, doubled, of different runs or
/// of another version of the program, and as conclude() does. The cost of the shards is added to `resources`.
FinishedRun merge_shards(const std::vector<std::filesystem::path>& shards, const std::string& output_dir,
                         bool overwrite, const RunObserver& observer, RunResources& resources);

}  // namespace attention_plasticity

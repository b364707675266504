#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "attention_plasticity/base/folder_lock.h"
#include "attention_plasticity/results/result_files.h"
#include "attention_plasticity/run/run_json.h"

namespace attention_plasticity {

/// Where a run's tables and run.json go.
std::vector<std::string> result_paths(const PreparedRun& prepared, const RunConfig& config);

/// Takes the right to write a run's files, until the locks are destroyed, and ends what an interrupted run left. A run
/// does so before `check_outputs`, and holds the locks until `write_results` has returned. Throws Error(output), which
/// names the folder, when another run is writing there.
std::vector<FolderLock> lock_outputs(const PreparedRun& prepared, const RunConfig& config);

/// Throws Error(usage) when run.json stands where this run would write its own and names another input (root, or repo
/// and revision) or another model, unless `overwrite` is true.
void check_earlier_results(const PreparedRun& prepared, const RunConfig& config);
/// The same for a run.json that stands elsewhere. `run_json`: its text; `file`: where it stands.
void check_earlier_results(const PreparedRun& prepared, const RunConfig& config, const std::string& run_json,
                           const std::string& file);

/// The same, and throws Error(output) when one of a run's files could not be written where the configuration puts it.
void check_outputs(const PreparedRun& prepared, const RunConfig& config);

/// Writes the tables and run.json, all or none (OutputFiles), and returns their paths. The caller holds the locks of
/// `lock_outputs`. An interrupted run leaves `*.partial.csv` and `run.partial.json` instead and does not touch earlier
/// results; nor does a run without any result, which leaves `run.failed.json`. A complete one removes, by the same
/// commit, what earlier ones left: partial files, run.failed.json, and the tables of the run that it replaces.
std::vector<std::string> write_results(const PreparedRun& prepared, const RunConfig& config, const RunResult& run,
                                       const RunResources& resources);

/// Writes the files of a run, as they are, into another folder, by the rules of `write_results`: under its lock, all or
/// none, and not over results of another input or model unless `overwrite` is true. Returns their paths. Throws
/// Error(usage) and Error(output) as `check_outputs` does.
std::vector<std::string> copy_results(const ResultFiles& files, const std::filesystem::path& folder, bool overwrite);

}  // namespace attention_plasticity

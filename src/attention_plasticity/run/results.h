#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "attention_plasticity/base/folder_lock.h"
#include "attention_plasticity/options/config.h"
#include "attention_plasticity/results/head_tables.h"
#include "attention_plasticity/results/run_files.h"
#include "attention_plasticity/results/summary.h"
#include "attention_plasticity/run/analysis_run.h"
#include "attention_plasticity/source/prepared_run.h"

// The results of a run, as its configuration wants them. The module `results` writes them.

namespace attention_plasticity {

/// Returns the facts about a run that decide which tables and columns it writes.
WrittenColumns written_columns(std::span<const HeadResult> results, const RunConfig& config);

/// Returns the text of a table with the columns of a run that measured all of `results`.
inline std::string table_text(TableId table, std::span<const HeadResult> results, const RunConfig& config,
                              std::span<const WithoutGroup> without_group = {}) {
  return table_text(table, results, written_columns(results, config), without_group);
}

/// Computes the statistics over heads that run.json and the terminal show.
RunSummary summarize_run(const RunResult& run, const RunConfig& config);

/// Returns the paths of a run's tables and run.json.
std::vector<std::string> result_paths(const PreparedRun& prepared, const RunConfig& config);

/// Takes the right to write a run's files, until the locks are destroyed, and removes what a killed run left. A run
/// does so before `check_outputs`, and holds the locks until `write_results` has returned. Throws Error(output), which
/// names the folder, when another run is writing there.
std::vector<FolderLock> lock_outputs(const PreparedRun& prepared, const RunConfig& config);

/// Throws Error(usage) when run.json stands where this run would write its own and names another input (root, or repo
/// and revision) or another model, unless `overwrite` is true.
void check_earlier_results(const PreparedRun& prepared, const RunConfig& config);
/// Checks a run.json that stands elsewhere. `run_json` is its text, and `file` names it in messages.
void check_earlier_results(const PreparedRun& prepared, const RunConfig& config, const std::string& run_json,
                           const std::string& file);

/// Checks earlier results, and throws Error(output) when one of a run's files could not be written where the
/// configuration puts it.
void check_outputs(const PreparedRun& prepared, const RunConfig& config);

/// Returns what run.json states of a run, and the heads that its tables hold. Borrows them from `run`.
RunContents run_contents(const PreparedRun& prepared, const RunConfig& config, const RunResult& run,
                         const RunSummary& summary, const RunResources& resources);

/// Writes the tables and run.json of a run as `write_run_files` does, and returns their paths. The caller holds the
/// locks of `lock_outputs`, and keeps the measured heads until this has returned.
std::vector<std::string> write_results(const PreparedRun& prepared, const RunConfig& config, const RunResult& run,
                                       const RunSummary& summary, const RunResources& resources);
inline std::vector<std::string> write_results(const PreparedRun& prepared, const RunConfig& config,
                                              const RunResult& run, const RunResources& resources) {
  return write_results(prepared, config, run, summarize_run(run, config), resources);
}

/// Returns true if the results of this very run stand where it would write them: the same program, files, rotation and
/// configuration, no head failed, and every table as run.json names it. `is_there` checks a table by its file and its
/// SHA-256 in run.json; if it is not set, tables are on disk.
bool are_results_complete(const PreparedRun& prepared, const RunConfig& config,
                          const std::function<bool(const std::string&, const std::string&)>& is_there = {});

}  // namespace attention_plasticity

#pragma once

#include <span>
#include <string>
#include <vector>

#include "attention_plasticity/run/run_json.h"

namespace attention_plasticity {

/// Where a run's tables and run.json go.
std::vector<std::string> result_paths(const PreparedRun& prepared, const RunConfig& config);

/// Throws Error(output) when one of a run's files could not be written where the configuration puts it.
void check_outputs(const PreparedRun& prepared, const RunConfig& config);

/// Writes the tables and run.json, all or none, and returns their paths. An interrupted run leaves `*.partial.csv` and
/// `run.partial.json` instead and does not touch earlier results; a run without any result writes run.json only.
/// A complete one removes the partial files of an earlier, interrupted one.
std::vector<std::string> write_results(const PreparedRun& prepared, const RunConfig& config, const RunResult& run,
                                       const RunResources& resources);

}  // namespace attention_plasticity

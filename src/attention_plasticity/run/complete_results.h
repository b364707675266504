#pragma once

#include <functional>
#include <string>

#include "attention_plasticity/run/config.h"
#include "attention_plasticity/run/prepared_run.h"

namespace attention_plasticity {

/// Whether the results of this very run stand where it would write them: the same program, files, rotation and
/// configuration, no head failed, and every table as run.json names it. `is_there` tells of a table, by its file and
/// its SHA-256 in run.json; not set: tables are on disk.
bool are_results_complete(const PreparedRun& prepared, const RunConfig& config,
                          const std::function<bool(const std::string&, const std::string&)>& is_there = {});

}  // namespace attention_plasticity

#pragma once

#include <span>
#include <string>

#include "attention_plasticity/run/analysis_run.h"
#include "attention_plasticity/run/config.h"
#include "attention_plasticity/run/prepared_run.h"

namespace attention_plasticity {

/// run.json: the contract that figures, report and validation read (docs/formats.md). `files` are the paths written.
std::string run_json(const PreparedRun& prepared, const RunConfig& config, const RunResult& run,
                     std::span<const std::string> files, const RunResources& resources);

}  // namespace attention_plasticity

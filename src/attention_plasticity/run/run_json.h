#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "attention_plasticity/run/analysis_run.h"
#include "attention_plasticity/run/config.h"
#include "attention_plasticity/run/prepared_run.h"

namespace attention_plasticity {

/// What the run cost; measured by the program, not by the library.
struct RunResources {
  int workers = 0;
  double wall_s = 0;
  double cpu_s = 0;
  std::uint64_t peak_rss_bytes = 0;
};

/// run.json: the contract that figures, report and validation read (docs/formats.md). `files` are the paths written.
std::string run_json(const PreparedRun& prepared, const RunConfig& config, const RunResult& run,
                     std::span<const std::string> files, const RunResources& resources);

}  // namespace attention_plasticity

#pragma once

#include <optional>
#include <span>
#include <string>

#include "attention_plasticity/run/analysis_run.h"
#include "attention_plasticity/run/config.h"
#include "attention_plasticity/run/prepared_run.h"

namespace attention_plasticity {

/// A file that the run writes.
struct WrittenFile {
  std::string path;
  std::optional<std::string> sha256 = {};  ///< of its bytes; none for run.json itself
};

/// run.json: the contract that figures, report and validation read (docs/formats.md).
std::string run_json(const PreparedRun& prepared, const RunConfig& config, const RunResult& run,
                     std::span<const WrittenFile> files, const RunResources& resources);

}  // namespace attention_plasticity

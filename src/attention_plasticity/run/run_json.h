#pragma once

#include <cstdint>
#include <optional>
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

/// A file that the run writes.
struct WrittenFile {
  std::string path;
  std::optional<std::string> sha256 = {};  ///< of its bytes; none for run.json itself
};

/// run.json: the contract that figures, report and validation read (docs/formats.md).
std::string run_json(const PreparedRun& prepared, const RunConfig& config, const RunResult& run,
                     std::span<const WrittenFile> files, const RunResources& resources);

}  // namespace attention_plasticity

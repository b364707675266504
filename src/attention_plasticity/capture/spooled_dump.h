#pragma once

#include <filesystem>

#include "attention_plasticity/capture/capture_manifest.h"
#include "attention_plasticity/capture/capture_progress.h"
#include "attention_plasticity/capture/spool.h"

namespace attention_plasticity {

/// Writes the Parquet files of all captured heads into `folder`: rows by document and position, in row groups of a few
/// MiB, so that a writing thread holds one of them. Several files are written at once, by as many threads as there are
/// cores, at most 8. Throws Error(input) when a head has no rows, Error(output) when a file cannot be written.
CaptureCounts write_spooled_heads(const std::filesystem::path& folder, const Spool& spool,
                                  const CaptureProgress& progress);

}  // namespace attention_plasticity

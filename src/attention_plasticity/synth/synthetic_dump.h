#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>

#include "attention_plasticity/synth/options.h"

namespace attention_plasticity {

/// Writes a synthetic dump into the folder `out`, which is created if it is missing: query and key files in the form of
/// the capture tool, `_saver_state.json`, `config.json` and, last, `truth.json`. One file is in memory at a time.
///
/// The same options give the same bytes. A head's files depend neither on the other heads nor on their number.
/// `progress` is called after each head file.
///
/// Throws Error(usage) as `check` does, and Error(output) when `out` is not a folder, is not empty or cannot be
/// written.
void write_synthetic_dump(const std::filesystem::path& out, const SynthOptions& options,
                          const std::function<void(std::size_t done, std::size_t total)>& progress = {});

}  // namespace attention_plasticity

#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>

#include "attention_plasticity/synth/options.h"

namespace attention_plasticity {

/// Writes a dump of `layers` layers into `out`, which is made when missing: the query and key files as the capture tool
/// writes them, `_saver_state.json`, `config.json` and, last, `truth.json`. One file is in memory at a time.
///
/// The same options give the same bytes, and a head's files depend neither on the other heads nor on their number.
/// `progress` is told how many of the head files are written.
///
/// Error(usage) as `check`; Error(output) when `out` is not a folder, is not empty or cannot be written to.
void write_synthetic_dump(const std::filesystem::path& out, const SynthOptions& options,
                          const std::function<void(std::size_t done, std::size_t total)>& progress = {});

}  // namespace attention_plasticity

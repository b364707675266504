#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>

#include "attention_plasticity/synth/options.h"

namespace attention_plasticity {

/// Called while a dump is written; each may be empty.
struct SynthObserver {
  std::function<void(std::uint64_t bytes)> begin = {};  ///< all is checked; the dump will take about `bytes` on disk
  std::function<void(std::size_t done, std::size_t total)> file = {};   ///< a head file was written
  std::function<void(std::size_t done, std::size_t total)> truth = {};  ///< the truth of a query head was computed
};

/// Writes a synthetic dump into the folder `out`, which is created if it is missing: query and key files in the form of
/// the capture tool, `_saver_state.json`, `config.json` and, last, `truth.json`. One file is in memory at a time.
///
/// The same options give the same bytes. A head's files depend neither on the other heads nor on their number.
///
/// Throws Error(usage) as `check` does, and Error(output) when `out` is not a folder, is not empty or cannot be
/// written, and when the disk has less space than estimated_dump_bytes.
void write_synthetic_dump(const std::filesystem::path& out, const SynthOptions& options,
                          const SynthObserver& observer = {});

}  // namespace attention_plasticity

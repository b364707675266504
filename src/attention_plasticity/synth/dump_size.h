#pragma once

#include <cstdint>

#include "attention_plasticity/synth/options.h"

namespace attention_plasticity {

/// About how many bytes a dump of these options takes on disk. Components of noise hardly compress, so that the size
/// follows from their number; the estimate is within 15 % of the size for files of 100 rows or more.
std::uint64_t estimated_dump_bytes(const SynthOptions& options);

}  // namespace attention_plasticity

#pragma once

#include <cstdint>

namespace attention_plasticity {

/// Cores that this process may use: its affinity mask and the CPU quota of its cgroups, whichever is less; at least 1.
int usable_cores();

/// CPU seconds of the process so far, and the most memory it has held.
double cpu_seconds();
std::uint64_t peak_rss_bytes();

}  // namespace attention_plasticity

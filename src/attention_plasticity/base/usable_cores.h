#pragma once

namespace attention_plasticity {

/// Cores that this process may use: its affinity mask and the CPU quota of its cgroups, whichever is less; at least 1.
int usable_cores();

}  // namespace attention_plasticity

#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace attention_plasticity {

/// A variable of the process's environment; none if it is not set.
std::optional<std::string> environment_variable(const char* name);

/// The name of this machine; empty when it has none.
std::string host_name();

/// CPU seconds of the process so far, and its peak resident memory.
double cpu_seconds();
std::uint64_t peak_rss_bytes();

}  // namespace attention_plasticity

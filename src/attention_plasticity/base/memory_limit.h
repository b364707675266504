#pragma once

#include <cstdint>
#include <string>

#include "attention_plasticity/error.h"

namespace attention_plasticity {

/// The memory that the result of a head may take, of a run with a `memory_limit`.
struct ResultLimit {
  std::uint64_t bytes = 0;
  std::uint64_t memory_limit = 0;  ///< of the run
};

/// The error of a head that needs more memory than `memory_limit` leaves to it. `what_for`, if not empty, names what
/// needs it, such as "3000 buckets make 4498500 cells".
Error over_memory_limit(std::uint64_t needed, std::uint64_t memory_limit, const std::string& what_for = {});

}  // namespace attention_plasticity

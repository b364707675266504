#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attention_plasticity/base/byte_range.h"

namespace attention_plasticity {

/// How the bytes of a file are asked for.
struct RangeLimits {
  double most_bytes = 1.2;              ///< bytes that are read, over those that are needed; at least 1
  std::size_t most_requests = 2;        ///< requests that are made where `most_bytes` allows so few
  std::uint64_t small_hole = 64 << 10;  ///< a hole up to this size is read through, where `most_bytes` allows it
};

/// The ranges to request so that all of `needed` is read: ascending and apart from each other. Ranges of `needed` may
/// be in any order and overlap; empty ones are ignored. Holes between them are read through, the smallest first, as
/// long as no more than `most_bytes` times the needed bytes are read: the small ones, and all that are in the way of
/// `most_requests`. Where both limits cannot be kept, that of the bytes is.
std::vector<ByteRange> planned_ranges(std::span<const ByteRange> needed, const RangeLimits& limits = {});

}  // namespace attention_plasticity

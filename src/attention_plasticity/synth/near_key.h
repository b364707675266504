#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "attention_plasticity/random/numpy_generator.h"

namespace attention_plasticity {

/// The index of a random key. `positions` are those of the keys that a query at position `query` sees, ascending and at
/// most `query`. The probability of a key is proportional to 1 / (1 + its distance from the query). The key `except`
/// is never drawn. There must be a key to draw.
///
/// The time grows with the logarithm of the number of keys.
std::size_t draw_near_key(std::span<const std::uint64_t> positions, std::uint64_t query,
                          std::optional<std::size_t> except, NumpyGenerator& generator);

}  // namespace attention_plasticity

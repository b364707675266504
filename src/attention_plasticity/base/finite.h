#pragma once

#include <span>

namespace attention_plasticity {

/// True if none of the values is NaN or infinite.
bool all_finite(std::span<const float> values);

}  // namespace attention_plasticity

#pragma once

#include <span>

namespace attention_plasticity {

/// out[c] = captured[c]. Vectors are captured in single precision, and all sums are in double precision.
void widen(std::span<const float> captured, std::span<double> out);

}  // namespace attention_plasticity

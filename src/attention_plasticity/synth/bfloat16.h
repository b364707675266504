#pragma once

namespace attention_plasticity {

/// The nearest bfloat16 number (8 bits of precision); in a tie, the even one. Infinity above the largest one. x must
/// not be NaN.
float round_to_bfloat16(float x);

}  // namespace attention_plasticity

#pragma once

namespace attention_plasticity {

/// The nearest number that has 8 bits of precision (bfloat16), the even one in a tie. Beyond the largest: infinity.
/// NaN has no meaning here.
float round_to_bfloat16(float x);

}  // namespace attention_plasticity

#pragma once

namespace attention_plasticity {

/// Distribution function of the standard normal, Phi(z) = erfc(-z / sqrt 2) / 2.
///
/// Any z; 0 and 1 at the infinities, NaN for NaN. The lower tail keeps its digits: within 3 (1 + z^2) rounding units
/// of the value wherever that is a normal number (z > -37.5), gradual underflow to 0 below.
double normal_cdf(double z);

}  // namespace attention_plasticity

#pragma once

namespace attention_plasticity {

/// The distribution function of the standard normal, Phi(z) = erfc(-z / sqrt 2) / 2.
///
/// z may be any number; 0 and 1 at the infinities, NaN for NaN. The lower tail keeps its digits: the error is at most
/// 3 (1 + z^2) rounding units of the value for z > -37.5. Below, the value underflows gradually to 0.
double normal_cdf(double z);

}  // namespace attention_plasticity

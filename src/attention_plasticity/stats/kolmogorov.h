#pragma once

#include <cstddef>

namespace attention_plasticity {

/// P(D_n >= distance), where D_n = sup |F_n - F| is the two-sided Kolmogorov-Smirnov statistic of n independent values
/// with a continuous distribution F. This is the distribution for that n, not its limit. 1 for distance <= 0 or n = 0,
/// 0 for distance >= 1, NaN for NaN.
///
/// The worst relative error is 1e-11 for any n, and 2e-13 if n distance^2 is not between 2 and 5 or the distance is at
/// least 1/2. Values below 1e-290 underflow to 0. A call takes microseconds, and at most 0.2 ms.
double kolmogorov_survival(std::size_t n, double distance);

}  // namespace attention_plasticity

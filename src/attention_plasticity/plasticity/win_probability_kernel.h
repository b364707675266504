#pragma once

#include <span>

namespace attention_plasticity {

/// plasticity(mean[i], variance[i]) for many pairs at once, within 1e-13 of the value down to 1e-300. The numbers are
/// finite; `values` may be one of the other two.
void plasticity_of_pairs(std::span<const double> mean, std::span<const double> variance, std::span<double> values);

}  // namespace attention_plasticity

#pragma once

#include <span>

namespace attention_plasticity {

/// values[i] = plasticity(mean[i], variance[i]), with a relative error of at most 1e-13 for results down to 1e-300. The
/// inputs must be finite; `values` may be one of them.
void plasticity_of_pairs(std::span<const double> mean, std::span<const double> variance, std::span<double> values);

}  // namespace attention_plasticity

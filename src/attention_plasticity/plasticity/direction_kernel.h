#pragma once

#include <span>

#include "attention_plasticity/base/matrix.h"

// Operations on many directions w_i at once, the rows of a matrix.

namespace attention_plasticity {

/// a·b.
double product(std::span<const double> a, std::span<const double> b);

/// along[i] = axis·w_i for a unit vector `axis`; w_i becomes w_i - along[i] axis, and across[i] = |w_i|² after that.
void remove_axis(Matrix& directions, std::span<const double> axis, std::span<double> along, std::span<double> across);

/// w_i becomes H D w_i, D = diag(sign), H = I - 2 u uᵀ; an empty `u` means H = I.
void reflect_rows(Matrix& directions, std::span<const double> sign, std::span<const double> u);

/// mean[i] = m·w_i and variance[i] = sum of v_c w_ic²: mean and variance of w_i·q for q with independent components of
/// means m and variances v.
void add_components(const Matrix& directions, std::span<const double> m, std::span<const double> v,
                    std::span<double> mean, std::span<double> variance);

}  // namespace attention_plasticity

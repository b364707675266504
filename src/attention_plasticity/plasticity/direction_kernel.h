#pragma once

#include <span>

#include "attention_plasticity/base/matrix.h"

// What is done to many directions at once, row by row, before or instead of evaluating covariances along them.

namespace attention_plasticity {

/// a·b.
double product(std::span<const double> a, std::span<const double> b);

/// along[i] = axis·w_i; then w_i loses its part along the unit vector `axis`, and across[i] = |w_i|² of what is left.
void remove_axis(Matrix& directions, std::span<const double> axis, std::span<double> along, std::span<double> across);

/// w_i becomes H D w_i, D = diag(sign), H = I - 2 u uᵀ; an empty `u` stands for H = I.
void reflect(Matrix& directions, std::span<const double> sign, std::span<const double> u);

/// mean[i] = m·w_i and variance[i] = sum of v_c w_ic²: what independent components with means m and variances v add to.
void add_components(const Matrix& directions, std::span<const double> m, std::span<const double> v,
                    std::span<double> mean, std::span<double> variance);

}  // namespace attention_plasticity

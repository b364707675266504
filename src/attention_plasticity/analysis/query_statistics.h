#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attention_plasticity/analysis/result.h"
#include "attention_plasticity/base/matrix.h"

namespace attention_plasticity {

/// The line of y = log2(position + 1) on s = x·beta / |beta|. |beta| = 0 or no spread in s: R² 0 and both errors equal.
ScalarPredictability scalar_predictability(std::span<const double> position, const Matrix& x,
                                           std::span<const double> beta);

/// Of the residual of component 0 of the rotated queries about its line, standardised with its own mean and n - 1
/// deviation. No spread or fewer than 3 rows: 0, 0, 1.
Normality residual_normality(std::span<const double> position, const Matrix& rotated, double intercept, double slope);

/// Medians over the components 1.. of the rotated queries, each standardised; Kolmogorov-Smirnov tests for at most
/// `max_dims` of them, chosen by `default_rng(seed)`. A component without spread counts as 0, 0, 1. Fewer than 3 rows
/// or one component only: 0, 0, 1, 0.
NoiseNormality noise_normality(const Matrix& rotated, std::size_t max_dims, double p_alpha, std::uint64_t seed);

/// Shares of positive R²: max(R², 0) divided by their sum; all zero: the same share for each.
std::vector<double> component_weights(std::span<const double> r_squared);

}  // namespace attention_plasticity

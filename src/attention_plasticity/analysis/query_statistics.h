#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attention_plasticity/head_result.h"
#include "attention_plasticity/stats/reflected_rows.h"

namespace attention_plasticity {

/// Fits y = log2(position + 1) on s, the part of each query along the slope. If s is empty or has no spread, R² is 0
/// and both errors are equal. Of R² all digits hold for positions up to 2^53, however close together they lie.
ScalarPredictability scalar_predictability(std::span<const double> position, std::span<const double> s);

/// Normality of the residual of the first reflected component about its line on position, which is counted from
/// `origin`; standardised with its own mean and n - 1 deviation. No spread beyond rounding, or fewer than 3 rows:
/// 0, 0, 1.
Normality residual_normality(std::span<const double> position, std::span<const double> first_component, double slope,
                             double origin = 0);

/// Marks the reflected components that get a Kolmogorov-Smirnov test: at most `max_dims` of the components 1.., chosen
/// by `default_rng(seed)`. With fewer than 3 rows none is marked.
std::vector<bool> tested_components(std::size_t rows, std::size_t width, std::size_t max_dims, std::uint64_t seed);

/// Statistics of each reflected component by itself.
struct ReflectedComponents {
  /// Over the components 1.., each standardised; the Kolmogorov-Smirnov figures over the tested ones. A component
  /// without spread, beyond what rounding in the reflection leaves, counts as 0, 0, 1. Fewer than 3 rows or only one
  /// component: 0, 0, 1, 0.
  NoiseNormality noise;
  std::vector<double> squares;  ///< sum of (x - mean)^2 of each component; 0 where that is rounding
};
/// The tested components must be coded in `queries`. `energy` is the sum of the squares of all components of all rows:
/// the size of what the reflection subtracts, and so of its rounding.
ReflectedComponents reflected_components(const ReflectedRows& queries, const std::vector<bool>& tested, double p_alpha,
                                         double energy);

/// max(R², 0) of each component divided by their sum; if all are 0, 1/d each.
std::vector<double> component_weights(std::span<const double> r_squared);

}  // namespace attention_plasticity

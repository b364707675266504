#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attention_plasticity/analysis/result.h"
#include "attention_plasticity/stats/reflected_rows.h"

namespace attention_plasticity {

/// The line of y = log2(position + 1) on s, the queries' part along their slope. No s, or no spread in it: R² 0 and
/// both errors equal.
ScalarPredictability scalar_predictability(std::span<const double> position, std::span<const double> s);

/// Of the residual of the rotated queries' first component about its line on position, standardised with its own mean
/// and n - 1 deviation. No spread or fewer than 3 rows: 0, 0, 1.
Normality residual_normality(std::span<const double> position, std::span<const double> first_component, double slope);

/// The components of rotated queries that are tested for normality: at most `max_dims` of 1.., chosen by
/// `default_rng(seed)`. None of fewer than 3 rows.
std::vector<bool> tested_components(std::size_t rows, std::size_t width, std::size_t max_dims, std::uint64_t seed);

/// Each component of the rotated queries, by itself.
struct ReflectedComponents {
  /// Medians over the components 1.., each standardised; Kolmogorov-Smirnov tests for the tested ones. A component
  /// without spread counts as 0, 0, 1. Fewer than 3 rows or one component only: 0, 0, 1, 0.
  NoiseNormality noise;
  std::vector<double> squares;  ///< sum of (x - mean)^2, of every component
};
/// The tested components of the queries are coded.
ReflectedComponents reflected_components(const ReflectedRows& queries, const std::vector<bool>& tested, double p_alpha);

/// Shares of positive R²: max(R², 0) divided by their sum; all zero: the same share for each.
std::vector<double> component_weights(std::span<const double> r_squared);

}  // namespace attention_plasticity

#pragma once

#include <cstddef>

namespace attention_plasticity {

/// Distance in values between rows that the scatter kernels read, and between the rows of their sums: the width rounded
/// up to whole vectors of any target. Values beyond the width must be 0.
constexpr std::size_t scatter_stride(std::size_t width) { return (width + 15) / 16 * 16; }

/// Subtracts the mean from `count` rows (at least one) and writes mean - origin to `mean`. The mean is computed from
/// differences to the origin, so rows that all equal the origin become exactly 0. All addresses must be aligned to 64
/// bytes.
void centre_rows(double* rows, std::size_t count, std::size_t stride, const double* origin, double* mean);

/// Adds the sum of x xᵀ over the rows x to the upper triangle of `scatter`; the lower triangle is undefined. All
/// addresses must be aligned to 64 bytes.
void add_outer_products(const double* rows, std::size_t count, std::size_t stride, double* scatter);

}  // namespace attention_plasticity

#pragma once

#include <cstddef>

namespace attention_plasticity {

/// Rows for the scatter kernels stand this many values apart, and so do the rows of their sums: the width, rounded up
/// to whole vectors of any target. Values behind the width are 0.
constexpr std::size_t scatter_stride(std::size_t width) { return (width + 15) / 16 * 16; }

/// Subtracts the mean from `count` rows (at least one), and writes its distance to `origin`. It is summed from
/// differences to the origin, so that rows that are all equal to it become exactly 0. Addresses are aligned to 64
/// bytes.
void centre_rows(double* rows, std::size_t count, std::size_t stride, const double* origin, double* mean);

/// scatter += sum over the rows x of x xᵀ, in the upper triangle; below it there may be anything. Addresses are aligned
/// to 64 bytes.
void add_outer_products(const double* rows, std::size_t count, std::size_t stride, double* scatter);

}  // namespace attention_plasticity

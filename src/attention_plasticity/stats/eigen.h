#pragma once

#include <Eigen/Core>

#include "attention_plasticity/base/matrix.h"

// The one place that includes Eigen's products, for .cc files only.

namespace attention_plasticity {

/// Eigen splits sums by the sizes of the caches it finds, so the last digits of a product would depend on the machine.
/// Fixed sizes (32 KiB, 512 KiB, 4 MiB) give the same bytes everywhere.
inline bool fix_eigen_blocking() noexcept {
  Eigen::setCpuCacheSizes(32 << 10, 512 << 10, 4 << 20);
  return true;
}
inline const bool eigen_blocking_is_fixed = fix_eigen_blocking();

using RowMajorMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

inline Eigen::Map<RowMajorMatrix> as_eigen(Matrix& matrix) {
  return {matrix.data(), static_cast<Eigen::Index>(matrix.rows()), static_cast<Eigen::Index>(matrix.cols())};
}
inline Eigen::Map<const RowMajorMatrix> as_eigen(const Matrix& matrix) {
  return {matrix.data(), static_cast<Eigen::Index>(matrix.rows()), static_cast<Eigen::Index>(matrix.cols())};
}

}  // namespace attention_plasticity

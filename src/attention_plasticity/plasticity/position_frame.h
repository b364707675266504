#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "attention_plasticity/base/matrix.h"
#include "attention_plasticity/stats/householder.h"

namespace attention_plasticity {

/// The space that pooled queries are modelled in: captured vectors are oriented (a sign for each component) and
/// reflected, so that component 0 runs along the slope on position and the others across it.
///
/// Means and covariances of captured queries serve as they are: across the slope, a product of rotated vectors is that
/// of the captured ones less their parts along axis().
class PositionFrame {
 public:
  /// Where vectors are in that space already.
  explicit PositionFrame(std::size_t width);
  PositionFrame(std::span<const double> orientation, const Householder& reflection);

  std::size_t width() const { return axis_.size(); }
  /// The unit vector with rotated component 0 = axis·x for captured x.
  std::span<const double> axis() const { return axis_; }
  /// The sign of each component, and u of the reflection I - 2 u uᵀ that follows; empty for none.
  std::span<const double> sign() const { return sign_; }
  std::span<const double> reflected() const { return u_; }
  /// Rotates every row.
  void rotate(Matrix& captured) const;

 private:
  std::vector<double> sign_;
  std::vector<double> axis_;
  std::vector<double> u_;  // of the reflection; empty for the identity
};

}  // namespace attention_plasticity

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "attention_plasticity/base/matrix.h"
#include "attention_plasticity/stats/householder.h"

namespace attention_plasticity {

/// The space in which pooled queries are modelled: captured vectors are oriented (a sign for each component), then
/// reflected, so that component 0 runs along the slope on position and the others across it.
///
/// Means and covariances of captured queries are used as they are: a product of two reflected vectors over components
/// 1.. equals the product of the captured vectors after their parts along axis() are removed.
class PositionFrame {
 public:
  /// For vectors that are in that space already.
  explicit PositionFrame(std::size_t width);
  PositionFrame(std::span<const double> orientation, const Householder& reflection);

  std::size_t width() const { return axis_.size(); }
  /// The unit vector whose product with a captured vector is the first reflected component.
  std::span<const double> axis() const { return axis_; }
  /// Orients and reflects every row.
  void reflect(Matrix& captured) const;

 private:
  std::vector<double> sign_;
  std::vector<double> axis_;
  std::vector<double> u_;  // the reflection is I - 2 u uᵀ; empty for the identity
};

}  // namespace attention_plasticity

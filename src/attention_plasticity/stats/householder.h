#pragma once

#include <span>
#include <vector>

namespace attention_plasticity {

/// The reflection H = I - 2 u uᵀ with H e1 = beta / |beta|, so that the first component of x H is the part of x along
/// beta. The identity where |beta| < 1e-12 or beta / |beta| is within 1e-12 of e1. H is its own inverse.
class Householder {
 public:
  explicit Householder(std::span<const double> beta);

  /// x becomes x H, in place: a rank-one update, never a matrix.
  void apply(std::span<double> x) const;

  /// beta / |beta|; empty for beta = 0.
  std::span<const double> direction() const { return direction_; }
  /// u, a unit vector; empty for the identity.
  std::span<const double> axis() const { return axis_; }

 private:
  std::vector<double> direction_;
  std::vector<double> axis_;
};

}  // namespace attention_plasticity

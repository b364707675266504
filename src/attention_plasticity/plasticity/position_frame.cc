#include "attention_plasticity/plasticity/position_frame.h"

#include <cmath>
#include <numeric>

#include "attention_plasticity/plasticity/direction_kernel.h"

namespace attention_plasticity {

PositionFrame::PositionFrame(std::size_t width) : sign_(width, 1.0), axis_(width) { axis_[0] = 1; }

PositionFrame::PositionFrame(std::span<const double> orientation, const Householder& reflection)
    : sign_(orientation.begin(), orientation.end()),
      axis_(orientation.size()) {
  axis_[0] = 1;
  reflection.apply(axis_);
  // A reflection is known by where it sends one vector that it moves: u points along H e1 - e1.
  std::vector<double> u = axis_;
  u[0] -= 1;
  const double norm = std::sqrt(std::inner_product(u.begin(), u.end(), u.begin(), 0.0));
  if (norm > 0) {
    for (double& value : u) value /= norm;
    u_ = std::move(u);
  }
  for (std::size_t c = 0; c < axis_.size(); ++c) axis_[c] *= sign_[c];
}

void PositionFrame::reflect(Matrix& captured) const { reflect_rows(captured, sign_, u_); }

}  // namespace attention_plasticity

#include "attention_plasticity/plasticity/position_frame.h"

#include "attention_plasticity/plasticity/direction_kernel.h"

namespace attention_plasticity {

PositionFrame::PositionFrame(std::size_t width) : sign_(width, 1.0), axis_(width) { axis_[0] = 1; }

PositionFrame::PositionFrame(std::span<const double> orientation, const Householder& reflection)
    : sign_(orientation.begin(), orientation.end()),
      axis_(orientation.size()),
      u_(reflection.axis().begin(), reflection.axis().end()) {
  axis_[0] = 1;
  reflection.apply(axis_);
  for (std::size_t c = 0; c < axis_.size(); ++c) axis_[c] *= sign_[c];
}

void PositionFrame::reflect(Matrix& captured) const { reflect_rows(captured, sign_, u_); }

}  // namespace attention_plasticity

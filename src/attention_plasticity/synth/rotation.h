#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace attention_plasticity {

/// Rotary position embedding (Su et al. 2021) over the whole width, in the layout of Llama: components i and i + dim/2
/// turn together by the angle position theta^(-2i / dim).
class Rotation {
 public:
  /// `dim` even, `theta` > 1.
  Rotation(std::size_t dim, double theta);

  /// Angles for each token, of the dim / 2 planes: 1 and descending.
  std::span<const double> frequencies() const { return frequencies_; }

  void turn(std::span<float> row, double position) const;
  void turn(std::span<double> row, double position) const;

 private:
  std::vector<double> frequencies_;
};

}  // namespace attention_plasticity

#include "attention_plasticity/synth/rotation.h"

#include <cmath>

namespace attention_plasticity {
namespace {

template <class Float>
void turn_planes(std::span<Float> row, double position, std::span<const double> frequencies) {
  const std::size_t half = frequencies.size();
  for (std::size_t i = 0; i < half; ++i) {
    const double angle = position * frequencies[i];
    const double c = std::cos(angle);
    const double s = std::sin(angle);
    const double x = row[i];
    const double y = row[i + half];
    row[i] = static_cast<Float>(c * x - s * y);
    row[i + half] = static_cast<Float>(s * x + c * y);
  }
}

}  // namespace

Rotation::Rotation(std::size_t dim, double theta) : frequencies_(dim / 2) {
  for (std::size_t i = 0; i < frequencies_.size(); ++i) {
    frequencies_[i] = std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(dim));
  }
}

void Rotation::turn(std::span<float> row, double position) const { turn_planes(row, position, frequencies_); }

void Rotation::turn(std::span<double> row, double position) const { turn_planes(row, position, frequencies_); }

}  // namespace attention_plasticity

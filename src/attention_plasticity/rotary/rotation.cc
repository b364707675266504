#include "attention_plasticity/rotation.h"

#include <cmath>

namespace attention_plasticity {
namespace {

template <class Float>
void rotate_pairs(const Rotation& rotation, std::span<Float> vector, double tokens) {
  const bool half = rotation.layout == RotaryLayout::half;
  const std::size_t pairs = rotation.frequency.size();
  const std::size_t stride = half ? 1 : 2;
  const std::size_t partner = half ? pairs : 1;
  for (std::size_t i = 0; i < pairs; ++i) {
    const double angle = tokens * rotation.frequency[i];
    const double cosine = std::cos(angle);
    const double sine = std::sin(angle);
    Float& first = vector[rotation.first + i * stride];
    Float& second = vector[rotation.first + i * stride + partner];
    const double x = first;
    const double y = second;
    first = static_cast<Float>(x * cosine - y * sine);
    second = static_cast<Float>(x * sine + y * cosine);
  }
}

}  // namespace

void Rotation::rotate(std::span<double> vector, double tokens) const { rotate_pairs(*this, vector, tokens); }

void Rotation::rotate(std::span<float> vector, double tokens) const { rotate_pairs(*this, vector, tokens); }

}  // namespace attention_plasticity

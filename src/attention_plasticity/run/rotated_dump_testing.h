#pragma once

#include <cmath>
#include <functional>

#include "attention_plasticity/rotary/rotated_rows_testing.h"
#include "attention_plasticity/rotation.h"
#include "attention_plasticity/run/small_dump_testing.h"

namespace attention_plasticity {

/// How the vectors of a layer are rotated.
using RotationByLayer = std::function<Rotation(int layer)>;

/// A dump of 2 query heads and 1 key head in each layer, whose vectors are rotated.
class RotatedDump : public SmallDump {
 public:
  RotatedDump(int layers, std::size_t width, double mean, const RotationByLayer& rotation) : SmallDump(layers, 2, 1) {
    for (int layer = 0; layer < layers; ++layer) {
      const auto seed = static_cast<unsigned>(10 * layer);
      write(Side::query, layer, 0, rotated_rows(rotation(layer), width, mean, seed + 1));
      write(Side::query, layer, 1, rotated_rows(rotation(layer), width, mean, seed + 2));
      write(Side::key, layer, 0, rotated_rows(rotation(layer), width, mean, seed + 3));
    }
  }
};

/// Frequencies theta^(-2i/dim).
inline Rotation rotation_with(double theta, std::size_t dim, RotaryLayout layout = RotaryLayout::half,
                              std::size_t first = 0) {
  Rotation rotation{layout, {}, 1, first};
  for (std::size_t i = 0; i < dim / 2; ++i) {
    rotation.frequency.push_back(std::pow(theta, -2 * static_cast<double>(i) / static_cast<double>(dim)));
  }
  return rotation;
}

}  // namespace attention_plasticity

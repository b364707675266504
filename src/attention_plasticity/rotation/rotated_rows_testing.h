#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <random>
#include <vector>

#include "attention_plasticity/base/head_rows.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/rotation.h"
#include "attention_plasticity/rotation/evidence.h"

namespace attention_plasticity {

/// For tests: rows of a constant vector of length `mean` per component and noise of deviation 1, rotated to their
/// positions, which lie below 1024.
inline HeadRows rotated_rows(const Rotation& rotation, std::size_t width, double mean, unsigned seed,
                             std::size_t count = 400) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> constant(width);
  for (float& x : constant) x = static_cast<float>(mean) * (normal(generator) < 0 ? -1.F : 1.F);
  HeadRows rows;
  rows.width = width;
  for (std::size_t i = 0; i < count; ++i) {
    const int position = std::uniform_int_distribution<int>(0, 1023)(generator);
    std::vector<float> vector = constant;
    for (float& x : vector) x += normal(generator);
    rotation.rotate(vector, position);
    rows.bucket.push_back(position / 256);
    rows.example.push_back(i % 8);
    rows.position.push_back(position);
    rows.vectors.insert(rows.vectors.end(), vector.begin(), vector.end());
  }
  return rows;
}

/// Frequencies theta^(-2i/dim).
inline Rotation rotation_with(double theta, std::size_t dim, RotaryLayout layout = RotaryLayout::half,
                              std::size_t first = 0) {
  Rotation rotation{layout, {}, 1, first};
  for (std::size_t i = 0; i < dim / 2; ++i) {
    rotation.frequency.push_back(std::pow(theta, -2 * static_cast<double>(i) / static_cast<double>(dim)));
  }
  return rotation;
}

/// The rotation of a layer's vectors.
using RotationByLayer = std::function<Rotation(int layer)>;

/// For tests: heads in memory, two query heads and a key head in each layer. Counts how often each is read.
class RotatedHeads {
 public:
  RotatedHeads(int layers, std::size_t width, double mean, const RotationByLayer& rotation) {
    for (int layer = 0; layer < layers; ++layer) {
      const auto seed = static_cast<unsigned>(10 * layer);
      rows_[{Side::query, {layer, 0}}] = rotated_rows(rotation(layer), width, mean, seed + 1);
      rows_[{Side::query, {layer, 1}}] = rotated_rows(rotation(layer), width, mean, seed + 2);
      rows_[{Side::key, {layer, 0}}] = rotated_rows(rotation(layer), width, mean, seed + 3);
    }
  }

  std::vector<HeadSide> heads() const {
    std::vector<HeadSide> all;
    for (const auto& [head, rows] : rows_) all.push_back(head);
    return all;
  }
  const HeadRows& of(const HeadSide& head) const { return rows_.at(head); }
  /// Lets a head fail to be read.
  void damage(const HeadSide& head) { damaged_[head] = true; }
  RotationRows rows() {
    return [this](const HeadSide& head, const auto& use) {
      ++reads[head];
      if (damaged_[head]) throw Error(ErrorKind::input, "damaged");
      use(of(head));
    };
  }

  std::map<HeadSide, int> reads;

 private:
  std::map<HeadSide, HeadRows> rows_;
  std::map<HeadSide, bool> damaged_;
};

}  // namespace attention_plasticity

#pragma once

#include <cstddef>
#include <random>
#include <vector>

#include "attention_plasticity/base/head_rows.h"
#include "attention_plasticity/rotation.h"

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

}  // namespace attention_plasticity

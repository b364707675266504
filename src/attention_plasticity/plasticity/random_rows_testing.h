#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "attention_plasticity/base/head_rows.h"
#include "attention_plasticity/base/matrix.h"
#include "attention_plasticity/random/numpy_generator.h"

// Random data for tests.

namespace attention_plasticity {

inline double random_normal(NumpyGenerator& generator) {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - generator.random()));
  return radius * std::cos(2.0 * std::numbers::pi * generator.random());
}

inline Matrix random_matrix(std::size_t rows, std::size_t cols, NumpyGenerator& generator) {
  Matrix matrix(rows, cols);
  for (std::size_t i = 0; i < rows * cols; ++i) matrix.data()[i] = random_normal(generator);
  return matrix;
}

/// `per_example` rows of each example (ids 100, 107, 114, ...) at different positions of 0..length-1, in buckets of
/// `bucket_size` tokens, with standard normal components.
inline HeadRows random_rows(std::size_t examples, std::size_t per_example, std::size_t length, std::size_t bucket_size,
                            std::size_t width, NumpyGenerator& generator) {
  HeadRows rows;
  rows.width = width;
  for (std::uint64_t example = 0; example < examples; ++example) {
    for (const std::size_t position : generator.choice_without_replacement(length, per_example)) {
      rows.example.push_back(100 + 7 * example);
      rows.position.push_back(static_cast<double>(position));
      rows.bucket.push_back(static_cast<std::int64_t>(position / bucket_size));
      for (std::size_t c = 0; c < width; ++c) rows.vectors.push_back(static_cast<float>(random_normal(generator)));
    }
  }
  return rows;
}

}  // namespace attention_plasticity

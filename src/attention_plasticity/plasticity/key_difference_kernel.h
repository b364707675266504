#pragma once

#include <span>
#include <vector>

#include "attention_plasticity/base/head_rows.h"
#include "attention_plasticity/base/matrix.h"
#include "attention_plasticity/plasticity/key_pairs.h"

namespace attention_plasticity {

/// differences: pairs × components, w = k1 - k2 of each pair.
void write_differences(const HeadRows& keys, std::span<const KeyPair> pairs, Matrix& differences);

/// Along w, after it was reflected at a unit vector (0: not at all), queries have the mean sum of mean_c w_c, of w as
/// it was, and the variance sum of variance_c (w - 2 axis (axis·w))_c².
struct ReflectedMoments {
  std::vector<double> axis;
  std::vector<double> mean;
  std::vector<double> variance;
};

/// The mean and the variance along w = k1 - k2 of each pair.
void moments_along_differences(const HeadRows& keys, std::span<const KeyPair> pairs, const ReflectedMoments& moments,
                               std::span<double> mean, std::span<double> variance);

}  // namespace attention_plasticity

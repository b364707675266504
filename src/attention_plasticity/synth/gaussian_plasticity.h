#pragma once

#include <span>

#include "attention_plasticity/synth/query_moments.h"

namespace attention_plasticity {

/// 4 Phi(z) Phi(-z), z = w·mean / sqrt(w' covariance w): the plasticity of normal queries between two keys whose
/// difference is w. NaN for w = 0.
double gaussian_plasticity(const QueryMoments& queries, std::span<const float> w);

}  // namespace attention_plasticity

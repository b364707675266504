#pragma once

#include <optional>
#include <vector>

#include "attention_plasticity/base/matrix.h"
#include "attention_plasticity/random/numpy_generator.h"
#include "attention_plasticity/rotation.h"
#include "attention_plasticity/synth/context.h"
#include "attention_plasticity/synth/head_model.h"

namespace attention_plasticity {

/// Mean and covariance of a population of queries.
struct QueryMoments {
  std::vector<double> mean;
  Matrix covariance;
};

/// The moments of the queries of a bucket, at positions uniform over `range`. They include drift, document effects,
/// noise and rotation.
///
/// `noise` must be noise_covariance(model). The result is exact, except with rotation in buckets of more than 1024
/// tokens: there mean + slope t is averaged over 1024 positions, one drawn from each of 1024 equal parts of the bucket.
QueryMoments bucket_moments(const HeadModel& model, const Matrix& noise, const std::optional<Rotation>& rotation,
                            TokenRange range, NumpyGenerator& generator);

}  // namespace attention_plasticity

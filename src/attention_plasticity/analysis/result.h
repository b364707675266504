#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "attention_plasticity/base/head_id.h"
#include "attention_plasticity/plasticity/cells.h"
#include "attention_plasticity/plasticity/exact.h"

namespace attention_plasticity {

/// How far a projection of the query tells log2(position + 1).
struct ScalarPredictability {
  double r_squared = 0;
  double mae_baseline = 0;  ///< mean absolute error of the mean
  double mae_projection = 0;
  double mae_ratio = 1;  ///< 1 when the baseline is 0
};

/// Skewness, excess kurtosis and Kolmogorov-Smirnov p of a standardised sample against N(0, 1).
struct Normality {
  double skewness = 0;
  double excess_kurtosis = 0;
  double ks_p = 1;
};

/// The same over the components that do not follow position.
struct NoiseNormality {
  double median_abs_skewness = 0;
  double median_abs_excess_kurtosis = 0;
  double median_ks_p = 1;        ///< NaN when no component was tested
  double share_below_alpha = 0;  ///< likewise
};

/// A head at one time: what was measured of the queries of one bucket.
struct TimePoint {
  std::int64_t query_bucket;
  double position;        ///< mean position of the bucket's queries, in tokens
  double plasticity;      ///< mean over all pairs of the bucket's cells; NaN when there is none
  std::size_t n_pairs;    ///< pairs in that mean
  std::size_t n_queries;  ///< queries in the bucket
  double exact = std::numeric_limits<double>::quiet_NaN();        ///< mean over the triples of the bucket's queries
  double exact_error = std::numeric_limits<double>::quiet_NaN();  ///< its standard error
  std::size_t n_triples = 0;                                      ///< triples in that mean
};

/// Everything measured of one head. An empty figure is NaN.
struct HeadResult {
  HeadId head;
  std::size_t n_q_tokens = 0;  ///< rows kept
  std::size_t n_k_tokens = 0;
  std::size_t width = 0;
  std::optional<double> window;  ///< sliding window in tokens

  double position_r_squared = 0;  ///< mean of component_r_squared
  double slope_norm = 0;          ///< |beta|
  ScalarPredictability scalar;
  Normality residual;  ///< of component 0 after rotation
  NoiseNormality noise;
  std::vector<double> component_r_squared;  ///< before rotation
  std::vector<double> component_weight;     ///< sums to 1

  HeadPlasticity plasticity;
  double plasticity_error = std::numeric_limits<double>::quiet_NaN();  ///< standard error of plasticity.overall
  std::optional<ExactPlasticity> exact;                                ///< none without a rotation to follow
  double exact_error = std::numeric_limits<double>::quiet_NaN();       ///< standard error of exact->overall
  std::vector<TimePoint> times;         ///< by query bucket, those that have cells or triples
  std::vector<std::uint64_t> examples;  ///< of queries and keys, ascending; empty where a file does not name them
};

}  // namespace attention_plasticity

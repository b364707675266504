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

/// How well a projection of the query predicts y = log2(position + 1).
struct ScalarPredictability {
  double r_squared = 0;
  double mae_baseline = 0;    ///< mean absolute error of the mean of y
  double mae_projection = 0;  ///< mean absolute error of the line on the projection
  double mae_ratio = 1;       ///< 1 when the baseline is 0
};

/// Skewness, excess kurtosis and Kolmogorov-Smirnov p of a standardised sample against N(0, 1).
struct Normality {
  double skewness = 0;
  double excess_kurtosis = 0;
  double ks_p = 1;
};

/// Normality over the components that do not follow position.
struct NoiseNormality {
  double median_abs_skewness = 0;
  double median_abs_excess_kurtosis = 0;
  double median_ks_p = 1;        ///< NaN when no component was tested
  double share_below_alpha = 0;  ///< share of tested components with p < p_alpha; NaN when none was tested
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

/// Everything that is measured of one head. A figure that does not exist is NaN.
struct HeadResult {
  HeadId head;
  std::size_t n_q_tokens = 0;  ///< rows kept
  std::size_t n_k_tokens = 0;
  std::size_t width = 0;
  std::optional<double> window;  ///< sliding window in tokens

  double position_r_squared = 0;  ///< mean of component_r_squared
  double slope_norm = 0;          ///< |beta|
  ScalarPredictability scalar;
  Normality residual;                       ///< of the first reflected component about its line
  NoiseNormality noise;                     ///< of the other reflected components
  std::vector<double> component_r_squared;  ///< of the components before reflection
  std::vector<double> component_weight;     ///< sums to 1

  HeadPlasticity plasticity;
  double plasticity_error = std::numeric_limits<double>::quiet_NaN();  ///< standard error of plasticity.overall
  std::optional<ExactPlasticity> exact;                                ///< none without a known rotation
  double exact_error = std::numeric_limits<double>::quiet_NaN();       ///< standard error of exact->overall
  std::vector<TimePoint> times;         ///< by query bucket, those that have cells or triples
  std::vector<std::uint64_t> examples;  ///< distinct ids of queries and keys, ascending; empty if a file has no ids
};

}  // namespace attention_plasticity

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "attention_plasticity/rows.h"

/// @file
/// What is measured of one head. A figure that does not exist is NaN.

namespace attention_plasticity {

/// How well a projection of the query predicts y = log2(position + 1).
struct ScalarPredictability {
  double r_squared = 0;       ///< of the line on the projection, at most 1
  double mae_baseline = 0;    ///< mean absolute error of the mean of y
  double mae_projection = 0;  ///< mean absolute error of the line on the projection
  double mae_ratio = 1;       ///< projection / baseline; 1 when the baseline is 0
};

/// Skewness, excess kurtosis and Kolmogorov-Smirnov p of a standardised sample against N(0, 1).
struct Normality {
  double skewness = 0;         ///< third standardised moment
  double excess_kurtosis = 0;  ///< fourth standardised moment, less 3
  double ks_p = 1;             ///< p of the Kolmogorov-Smirnov test
};

/// Normality over the components that do not follow position.
struct NoiseNormality {
  double median_abs_skewness = 0;         ///< over the components
  double median_abs_excess_kurtosis = 0;  ///< over the components
  double median_ks_p = 1;                 ///< NaN when no component was tested
  double share_below_alpha = 0;           ///< share of tested components with p < p_alpha; NaN when none was tested
};

/// The queries of one bucket and the keys of an earlier one.
struct Cell {
  std::int64_t query_bucket = 0;                                 ///< >= 1
  std::int64_t key_bucket = 0;                                   ///< below the query bucket
  double plasticity = std::numeric_limits<double>::quiet_NaN();  ///< mean over the pairs; NaN when there is none
  std::size_t n_pairs = 0;                                       ///< pairs in that mean
};

/// Pooled plasticity of a head: 4 p (1 - p) over pairs of keys, with all queries of a bucket as one population.
struct PooledPlasticity {
  double overall = std::numeric_limits<double>::quiet_NaN();  ///< weighted mean of the cells; NaN when all are empty
  std::vector<Cell> cells = {};                               ///< by (query bucket, key bucket)
};

/// The triples of one pair of distance bins. The bin of a distance is floor(log2(1 + distance in tokens)).
struct DistanceBin {
  int near_bin = 0;           ///< bin of the nearer key
  int far_bin = 0;            ///< bin of the farther key
  double plasticity = 0;      ///< mean over the triples, as in ExactPlasticity
  double logit_fixed = 0;     ///< likewise
  double logit_spread = 0;    ///< likewise
  std::size_t n_triples = 0;  ///< triples in these means
};

/// Position-exact plasticity of a head: the rotation is followed to the position of each query and key.
struct ExactPlasticity {
  double overall = std::numeric_limits<double>::quiet_NaN();    ///< mean over the triples
  double empirical = std::numeric_limits<double>::quiet_NaN();  ///< the same, counted over queries instead of modelled
  /// Mean |m|/√d: the part of the logit difference that is fixed.
  double logit_fixed = std::numeric_limits<double>::quiet_NaN();
  /// Mean √v/√d: the part that varies with the query.
  double logit_spread = std::numeric_limits<double>::quiet_NaN();
  std::size_t n_triples = 0;                ///< triples in these means
  std::vector<DistanceBin> distances = {};  ///< by (near_bin, far_bin)
};

/// A head at one time: what was measured of the queries of one bucket.
struct TimePoint {
  std::int64_t query_bucket = 0;                                  ///< the bucket
  double position = 0;                                            ///< mean position of the bucket's queries, in tokens
  double plasticity = std::numeric_limits<double>::quiet_NaN();   ///< mean over all pairs of the bucket's cells
  std::size_t n_pairs = 0;                                        ///< pairs in that mean
  std::size_t n_queries = 0;                                      ///< queries in the bucket
  double exact = std::numeric_limits<double>::quiet_NaN();        ///< mean over the triples of the bucket's queries
  double exact_error = std::numeric_limits<double>::quiet_NaN();  ///< its standard error
  std::size_t n_triples = 0;                                      ///< triples in that mean
};

/// Everything that is measured of one head.
struct HeadResult {
  HeadId head = {};                   ///< whose figures these are
  std::size_t n_q_tokens = 0;         ///< rows kept of the queries
  std::size_t n_k_tokens = 0;         ///< rows kept of the keys
  std::size_t width = 0;              ///< components of a vector
  std::optional<double> window = {};  ///< sliding window in tokens

  double position_r_squared = 0;                 ///< mean of component_r_squared
  double slope_norm = 0;                         ///< length of the queries' slope on position
  ScalarPredictability scalar = {};              ///< of the query along that slope
  Normality residual = {};                       ///< of the first reflected component about its line
  NoiseNormality noise = {};                     ///< of the other reflected components
  std::vector<double> component_r_squared = {};  ///< of the components before reflection
  std::vector<double> component_weight = {};     ///< sums to 1

  PooledPlasticity plasticity = {};                                    ///< pooled over the positions of a bucket
  double plasticity_error = std::numeric_limits<double>::quiet_NaN();  ///< standard error of plasticity.overall
  std::optional<ExactPlasticity> exact = {};                           ///< none without a known rotation
  double exact_error = std::numeric_limits<double>::quiet_NaN();       ///< standard error of exact->overall
  std::vector<TimePoint> times = {};  ///< by query bucket, those that have cells or triples
  std::vector<std::uint64_t> examples =
      {};  ///< distinct ids of queries and keys, ascending; empty if a side has no ids
};

}  // namespace attention_plasticity

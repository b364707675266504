#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "attention_plasticity/base/head_rows.h"
#include "attention_plasticity/plasticity/jackknife_groups.h"
#include "attention_plasticity/plasticity/options.h"
#include "attention_plasticity/random/numpy_generator.h"
#include "attention_plasticity/rotary/rotation.h"

namespace attention_plasticity {

/// Triples by distance: bin b holds the distances with floor(log2(1 + distance)) = b.
struct DistanceBin {
  int near_bin;  ///< of the nearer key
  int far_bin;   ///< of the farther one
  double plasticity;
  double logit_fixed;
  double logit_spread;
  std::size_t n_triples;
};

/// The triples whose query lies in one bucket.
struct ExactTime {
  std::int64_t query_bucket;
  double plasticity;      ///< mean over the triples
  double error;           ///< standard error of the mean, from the jackknife groups; NaN if a group leaves no triple
  std::size_t n_triples;  ///< >= 1
};

/// Position-exact plasticity of a head. Figures that do not exist are NaN.
struct ExactPlasticity {
  double overall = std::numeric_limits<double>::quiet_NaN();       ///< mean over the triples
  double empirical = std::numeric_limits<double>::quiet_NaN();     ///< the same, counted over queries, not modelled
  double logit_fixed = std::numeric_limits<double>::quiet_NaN();   ///< mean |m|/√d: what is settled beforehand
  double logit_spread = std::numeric_limits<double>::quiet_NaN();  ///< mean √v/√d: what the query adds
  std::size_t n_triples = 0;
  std::vector<DistanceBin> distances;  ///< by (near_bin, far_bin)
  std::vector<ExactTime> times;        ///< by query bucket, those with triples
  std::vector<double> without_group;   ///< `overall` with one jackknife group left out, for each group
};

/// What the measure takes beside the rows.
struct ExactSettings {
  Rotation rotation;
  Vectors vectors = Vectors::post;
  WindowUnit window_unit = WindowUnit::tokens;
  std::size_t num_triples = 4096;
  std::size_t empirical_queries = 1024;  ///< 0: `empirical` stays empty
};

/// Follows the rotation of a rotary embedding exactly: with q̃ = R(-t) q ~ N(mu, Sigma) over all queries, a query at t
/// and keys a, b have u = R(-t)(k_a - k_b), and the first key wins with probability Phi(u·mu / √(uᵀ Sigma u)).
///
/// Queries captured before rotation are q̃ already, and their keys are rotated to their positions. With fewer than two
/// queries nothing is measured. Without group g, mu and Sigma come from the other queries and the means run over their
/// triples.
ExactPlasticity measure_exact_plasticity(const HeadRows& queries, const HeadRows& keys, const ExactSettings& settings,
                                         const JackknifeGroups& groups, NumpyGenerator generator);

}  // namespace attention_plasticity

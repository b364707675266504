#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "attention_plasticity/analysis_options.h"
#include "attention_plasticity/head_result.h"
#include "attention_plasticity/plasticity/jackknife_groups.h"
#include "attention_plasticity/random/numpy_generator.h"
#include "attention_plasticity/rotation.h"

namespace attention_plasticity {

/// The triples whose query lies in one bucket.
struct ExactTime {
  std::int64_t query_bucket;
  double plasticity;      ///< mean over the triples
  double error;           ///< standard error of the mean, from the jackknife groups; NaN if a group leaves no triple
  std::size_t n_triples;  ///< >= 1
};

/// Position-exact plasticity of a head, with what the rest of the analysis needs of it.
struct MeasuredExact : ExactPlasticity {
  std::vector<ExactTime> times;       ///< by query bucket, those with triples
  std::vector<double> without_group;  ///< `overall` without each jackknife group; NaN where nothing is left
};

/// How position-exact plasticity is measured.
struct ExactSettings {
  Rotation rotation;
  Vectors vectors = Vectors::post;
  WindowUnit window_unit = WindowUnit::tokens;
  std::size_t num_triples = 4096;
  std::size_t empirical_queries = 1024;  ///< 0: `empirical` is NaN
};

/// Plasticity that follows the rotation of a rotary embedding exactly: with q̃ = R(-t) q ~ N(mu, Sigma) over all
/// queries, a query at t and keys a, b have u = R(-t)(k_a - k_b), and the first key wins with probability Phi(u·mu /
/// √(uᵀ Sigma u)).
///
/// Queries captured before rotation are q̃ already, and their keys are rotated to their positions. With fewer than two
/// queries nothing is measured. Without group g, mu and Sigma come from the other queries and the means run over their
/// triples.
MeasuredExact measure_exact_plasticity(const RowsView& queries, const RowsView& keys, const ExactSettings& settings,
                                       const JackknifeGroups& groups, NumpyGenerator generator);

}  // namespace attention_plasticity

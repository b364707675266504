#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "attention_plasticity/analysis_options.h"
#include "attention_plasticity/base/memory_limit.h"
#include "attention_plasticity/head_result.h"
#include "attention_plasticity/plasticity/jackknife_groups.h"
#include "attention_plasticity/plasticity/position_frame.h"
#include "attention_plasticity/random/numpy_generator.h"
#include "attention_plasticity/stats/line_fit.h"

namespace attention_plasticity {

/// All cells of one query bucket together: the head's plasticity at one time.
struct PooledTime {
  std::int64_t query_bucket;
  double position;    ///< mean position of the bucket's queries, in tokens
  double plasticity;  ///< mean over all pairs of the bucket's cells; NaN when there is none
  std::size_t n_pairs;
  std::size_t n_queries;
};

/// Pooled plasticity of a head, with what the rest of the analysis needs of it.
struct MeasuredPlasticity : PooledPlasticity {
  std::vector<PooledTime> times;      ///< by query bucket
  std::vector<double> without_group;  ///< `overall` without each jackknife group; NaN where nothing is left
};

/// How pooled plasticity is measured.
struct PooledSettings {
  Method method = Method::positional;
  Sampler sampler = Sampler::bucket;
  Weighting weighting = Weighting::queries;
  WindowUnit window_unit = WindowUnit::tokens;
  std::size_t num_pairs = 256;            ///< key pairs drawn for a cell, >= 1
  double max_relative_distance = 0.05;    ///< reach of the local sampler, in (0, 1]
  std::optional<ResultLimit> limit = {};  ///< of the memory of all cells
};

/// Pooled plasticity: the mean of 4 p (1 - p), p = P(w·q > 0), over key pairs with the difference w, where q follows
/// the method's model of all queries of a bucket (QueryModel).
///
/// For each query bucket, ascending, and each earlier key bucket that it sees, ascending, the sampler draws pairs with
/// the one `generator`. Query bucket 0 and buckets with too few queries for the method have no cells. `frame` is the
/// space of the models, and `lines` are the lines of all queries on position in that space. Without group g, the models
/// come from the other queries and the means run over the pairs of other examples.
///
/// There are up to (buckets of queries) × (buckets of keys) / 2 cells. Throws Error(input) with their number before the
/// first is measured when they take more memory than `settings.limit` allows.
MeasuredPlasticity measure_plasticity(const RowsView& queries, const RowsView& keys, const PositionFrame& frame,
                                      const LineFit& lines, const PooledSettings& settings,
                                      const JackknifeGroups& groups, NumpyGenerator generator);

}  // namespace attention_plasticity

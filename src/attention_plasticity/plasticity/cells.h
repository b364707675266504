#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "attention_plasticity/base/head_rows.h"
#include "attention_plasticity/plasticity/grouped_queries.h"
#include "attention_plasticity/plasticity/key_pairs.h"
#include "attention_plasticity/plasticity/options.h"
#include "attention_plasticity/plasticity/position_frame.h"
#include "attention_plasticity/stats/line_fit.h"

namespace attention_plasticity {

/// A head's queries, as captured, and how they follow position.
struct PooledQueries {
  QueryRow captured;
  const PositionFrame& frame;
  const LineFit& lines;  ///< on position, of the rotated queries
  std::span<const std::int64_t> bucket;
  std::span<const double> position;
  std::span<const std::size_t> group;  ///< jackknife group of each query, below `groups`; empty if there is none
  std::size_t groups = 0;
};

/// The key pairs drawn for one cell of a query bucket.
struct CellPairs {
  std::int64_t key_bucket;
  std::vector<KeyPair> pairs;
  std::vector<std::size_t> group;  ///< jackknife group of each pair's example
};

struct Cell {
  std::int64_t query_bucket;
  std::int64_t key_bucket;
  double plasticity;    ///< mean over the pairs; NaN when there is none
  std::size_t n_pairs;  ///< pairs in that mean
};

/// All cells of one query bucket together: the head's plasticity at one time.
struct PooledTime {
  std::int64_t query_bucket;
  double position;    ///< mean position of the bucket's queries
  double plasticity;  ///< mean over all pairs of the bucket's cells; NaN when there is none
  std::size_t n_pairs;
  std::size_t n_queries;
};

struct HeadPlasticity {
  double overall;  ///< weighted mean of the cells; NaN when all are empty
  std::vector<Cell> cells;
  std::vector<PooledTime> times;      ///< by query bucket
  std::vector<double> without_group;  ///< `overall` with one jackknife group left out, for each group; may be NaN
};

using TakeCell = std::function<void(const CellPairs& cell)>;
/// Draws the cells of a query bucket and hands them over, by ascending key bucket. Called once for each, by ascending
/// query bucket, so that one generator can serve all of them and only one cell's pairs are in memory.
using DrawCells = std::function<void(std::int64_t query_bucket, double mean_position, const TakeCell& take)>;

/// 4 p (1 - p), p = P(w·q > 0) with q as the method models the queries of the bucket (QueryModel), for every pair, and
/// its means over cells, times and the head. Query bucket 0 and those with too few queries for the method are skipped.
/// Without group g, the models come from the other queries and the means run over the pairs of other examples.
HeadPlasticity measure_plasticity(const PooledQueries& queries, const HeadRows& keys, const DrawCells& draw,
                                  Method method, Weighting weighting);

}  // namespace attention_plasticity

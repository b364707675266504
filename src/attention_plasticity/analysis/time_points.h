#pragma once

#include <span>
#include <vector>

#include "attention_plasticity/head_result.h"
#include "attention_plasticity/plasticity/cells.h"
#include "attention_plasticity/plasticity/exact.h"
#include "attention_plasticity/rows.h"

namespace attention_plasticity {

/// Joins what the pooled and the position-exact measure found for each query bucket. A bucket that only `exact` has (no
/// cells: bucket 0, or too few queries for the method) gets position and n_queries from its rows in `queries`. Both
/// lists are by query bucket, and so is the result.
std::vector<TimePoint> join_times(const RowsView& queries, std::span<const PooledTime> pooled,
                                  std::span<const ExactTime> exact);

}  // namespace attention_plasticity

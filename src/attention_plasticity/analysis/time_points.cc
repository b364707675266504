#include "attention_plasticity/analysis/time_points.h"

#include <limits>
#include <map>

#include "attention_plasticity/stats/mean.h"

namespace attention_plasticity {
namespace {

using PositionsOfBuckets = std::map<std::int64_t, Mean>;

// The mean position of the queries of each bucket, in one pass whatever the number of buckets.
PositionsOfBuckets positions_of(const RowsView& queries) {
  PositionsOfBuckets positions;
  // Consecutive rows are mostly of one bucket, which is then not looked up again.
  Mean* of_last = nullptr;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (i == 0 || queries.bucket[i] != queries.bucket[i - 1]) of_last = &positions[queries.bucket[i]];
    of_last->add(queries.position[i]);
  }
  return positions;
}

TimePoint without_cells(const Mean& positions, std::int64_t bucket) {
  return {bucket, positions.value(), std::numeric_limits<double>::quiet_NaN(), 0, positions.count};
}

}  // namespace

std::vector<TimePoint> join_times(const RowsView& queries, std::span<const PooledTime> pooled,
                                  std::span<const ExactTime> exact) {
  const PositionsOfBuckets positions = exact.empty() ? PositionsOfBuckets() : positions_of(queries);
  std::vector<TimePoint> times;
  auto next = exact.begin();
  const auto take_exact = [&](TimePoint time) {
    if (next != exact.end() && next->query_bucket == time.query_bucket) {
      time.exact = next->plasticity;
      time.exact_error = next->error;
      time.n_triples = next->n_triples;
      ++next;
    }
    times.push_back(time);
  };
  for (const PooledTime& time : pooled) {
    while (next != exact.end() && next->query_bucket < time.query_bucket) {
      take_exact(without_cells(positions.at(next->query_bucket), next->query_bucket));
    }
    take_exact({time.query_bucket, time.position, time.plasticity, time.n_pairs, time.n_queries});
  }
  while (next != exact.end()) take_exact(without_cells(positions.at(next->query_bucket), next->query_bucket));
  return times;
}

}  // namespace attention_plasticity

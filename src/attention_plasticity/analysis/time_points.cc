#include "attention_plasticity/analysis/time_points.h"

#include <limits>

namespace attention_plasticity {
namespace {

TimePoint without_cells(const HeadRows& queries, std::int64_t bucket) {
  TimePoint time{bucket, 0, std::numeric_limits<double>::quiet_NaN(), 0, 0};
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (queries.bucket[i] != bucket) continue;
    time.position += queries.position[i];
    ++time.n_queries;
  }
  time.position /= static_cast<double>(time.n_queries);
  return time;
}

}  // namespace

std::vector<TimePoint> join_times(const HeadRows& queries, std::span<const PooledTime> pooled,
                                  std::span<const ExactTime> exact) {
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
      take_exact(without_cells(queries, next->query_bucket));
    }
    take_exact({time.query_bucket, time.position, time.plasticity, time.n_pairs, time.n_queries});
  }
  while (next != exact.end()) take_exact(without_cells(queries, next->query_bucket));
  return times;
}

}  // namespace attention_plasticity

#include "attention_plasticity/plasticity/key_buckets.h"

#include <algorithm>
#include <cmath>

namespace attention_plasticity {

KeyBuckets group_by_bucket(const RowsView& keys) {
  KeyBuckets buckets;
  // Consecutive rows are mostly of one bucket, which is then not looked up again.
  KeyBucket* of_last = nullptr;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i == 0 || keys.bucket[i] != keys.bucket[i - 1]) {
      of_last = &buckets.try_emplace(keys.bucket[i], KeyBucket{{}, keys.position[i]}).first->second;
    }
    of_last->rows.push_back(i);
    of_last->last_position = std::max(of_last->last_position, keys.position[i]);
  }
  return buckets;
}

std::vector<std::int64_t> visible_key_buckets(const KeyBuckets& keys, std::int64_t query_bucket, double mean_position,
                                              std::optional<double> window, WindowUnit unit) {
  std::vector<std::int64_t> visible;
  for (const auto& [bucket, of_bucket] : keys) {
    if (bucket >= query_bucket) break;
    bool inside = true;
    if (window && unit == WindowUnit::buckets) {
      // Subtracting in double: a window may be larger than any bucket number.
      inside = static_cast<double>(bucket) >= static_cast<double>(query_bucket) - std::max(1.0, std::floor(*window));
    } else if (window) {
      inside = bucket == query_bucket - 1 || of_bucket.last_position > mean_position - *window;
    }
    if (inside) visible.push_back(bucket);
  }
  return visible;
}

}  // namespace attention_plasticity

#include "attention_plasticity/plasticity/key_buckets.h"

#include <algorithm>
#include <cmath>

namespace attention_plasticity {

KeyBuckets group_by_bucket(const HeadRows& keys) {
  KeyBuckets buckets;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    auto [at, is_new] = buckets.try_emplace(keys.bucket[i], KeyBucket{{}, keys.position[i]});
    at->second.rows.push_back(i);
    at->second.last_position = std::max(at->second.last_position, keys.position[i]);
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

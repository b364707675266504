#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "attention_plasticity/base/head_rows.h"
#include "attention_plasticity/plasticity/options.h"

namespace attention_plasticity {

/// The keys of a head by bucket, in ascending order.
struct KeyBucket {
  std::vector<std::size_t> rows;  ///< in row order, never empty
  double last_position;           ///< the largest of them
};
using KeyBuckets = std::map<std::int64_t, KeyBucket>;

KeyBuckets group_by_bucket(const HeadRows& keys);

/// The key buckets whose keys the queries of `query_bucket`, at mean position `mean_position`, compare: the earlier
/// ones, as far back as a sliding window reaches. In tokens, the bucket before is always one of them, and every one
/// whose last key lies after mean_position - window; in buckets, the last max(1, floor(window)) of them.
std::vector<std::int64_t> visible_key_buckets(const KeyBuckets& keys, std::int64_t query_bucket, double mean_position,
                                              std::optional<double> window, WindowUnit unit);

}  // namespace attention_plasticity

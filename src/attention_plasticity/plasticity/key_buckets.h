#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "attention_plasticity/analysis_options.h"
#include "attention_plasticity/rows.h"

namespace attention_plasticity {

/// The keys of one bucket.
struct KeyBucket {
  std::vector<std::size_t> rows;  ///< in row order, never empty
  double last_position;           ///< largest position among them, in tokens
};
/// The keys of a head by bucket.
using KeyBuckets = std::map<std::int64_t, KeyBucket>;

KeyBuckets group_by_bucket(const RowsView& keys);

/// The key buckets that the queries of `query_bucket` see, ascending: all earlier buckets, or with a sliding window
/// those within it. A window in tokens contains the bucket just before, and every bucket whose last key lies after
/// mean_position - window, where `mean_position` is that of the queries. A window in buckets contains the last
/// max(1, floor(window)) buckets.
std::vector<std::int64_t> visible_key_buckets(const KeyBuckets& keys, std::int64_t query_bucket, double mean_position,
                                              std::optional<double> window, WindowUnit unit);

}  // namespace attention_plasticity

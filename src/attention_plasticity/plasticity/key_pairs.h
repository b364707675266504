#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "attention_plasticity/plasticity/key_buckets.h"
#include "attention_plasticity/random/numpy_generator.h"
#include "attention_plasticity/rows.h"

namespace attention_plasticity {

/// Two key rows of one example.
struct KeyPair {
  std::size_t first;
  std::size_t second;
};

/// Pairs of keys of one bucket and one example, every unordered pair equally likely, with replacement.
class BucketPairSampler {
 public:
  BucketPairSampler(const RowsView& keys, const KeyBuckets& buckets);

  /// min(most, number of pairs in the bucket) pairs; none when no example has two keys there.
  std::vector<KeyPair> draw(std::int64_t bucket, std::size_t most, NumpyGenerator& generator) const;

 private:
  // The examples with two keys or more in a bucket, in order of first appearance.
  class PairedExamples {
   public:
    void add(std::span<const std::size_t> rows);
    /// To be called once, after the last add().
    void index();
    std::uint64_t pairs() const { return pairs_up_to_.empty() ? 0 : pairs_up_to_.back(); }
    /// The keys of the example that holds pair number `pair`, counting pairs example by example.
    std::span<const std::size_t> rows_of_pair(std::uint64_t pair) const;

   private:
    std::vector<std::size_t> rows_;           // example after example
    std::vector<std::size_t> rows_up_to_{0};  // cumulative number of keys, from 0 on
    std::vector<std::uint64_t> pairs_up_to_;  // cumulative number of pairs
    std::vector<std::size_t> example_;        // entry i: the example of pair i << shift_, where a search starts
    unsigned shift_ = 0;
  };
  std::map<std::int64_t, PairedExamples> by_bucket_;
};

/// Pairs of an anchor and a neighbour, in random order. The anchor is uniform over the keys of a bucket that have a
/// neighbour. The neighbour is uniform over the captured keys of the same example that are at most
/// Delta = max(1, floor(max_relative_distance L)) tokens away and not in a later bucket, where L is one more than the
/// example's largest captured position.
class LocalPairSampler {
 public:
  LocalPairSampler(const RowsView& queries, const RowsView& keys, const KeyBuckets& buckets,
                   double max_relative_distance);

  /// `count` pairs; none when no key of the bucket has a neighbour.
  std::vector<KeyPair> draw(std::int64_t bucket, std::size_t count, NumpyGenerator& generator) const;

 private:
  struct Example {
    std::vector<std::size_t> rows;  // by position, then row
    double reach = 0;               // Delta
  };
  std::vector<std::size_t> neighbours(std::size_t anchor) const;

  RowsView keys_;
  std::unordered_map<std::uint64_t, Example> examples_;
  std::map<std::int64_t, std::vector<std::size_t>> anchors_;  // keys with a neighbour, in row order
};

}  // namespace attention_plasticity

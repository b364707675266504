#pragma once

#include <cstdint>
#include <string>

namespace attention_plasticity {

/// Sizes of position buckets. uniform: all have one size; log: each is twice as large as the one before.
enum class BucketType { uniform, log };

/// The positions of buckets. Bucket b spans b size to (b + 1) size when uniform, and 2^b size to 2^(b+1) size when log.
struct BucketGeometry {
  BucketType type = BucketType::uniform;
  double size = 1;         ///< > 0, in tokens
  bool in_tokens = false;  ///< false: the size is unknown, and positions count buckets

  double start(std::int64_t bucket) const;
  /// The position of a bucket on an axis: (b + 1/2) size when uniform, 2^(b + 1/2) size when log.
  double middle(std::int64_t bucket) const;
};

/// Throws Error(usage) when the last bucket would lie beyond any text. The cause is usually that uniform buckets are
/// read as log buckets.
void check_reach(const BucketGeometry& geometry, std::int64_t last_bucket);

/// A position for people: 512, 1k (1024), 1.5k, 128k, 1M (1024 k). Positions without such a short form are written in
/// full.
std::string token_label(double tokens);

}  // namespace attention_plasticity

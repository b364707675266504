#pragma once

#include <string>

namespace attention_plasticity {

/// How position buckets lie: all of one size, or each twice as large as the one before.
enum class BucketType { uniform, log };

/// Where buckets are. A uniform bucket b spans b size to (b + 1) size, a log one 2^b size to 2^(b+1) size.
struct BucketGeometry {
  BucketType type = BucketType::uniform;
  double size = 1;         ///< > 0, in tokens
  bool in_tokens = false;  ///< false: nothing tells the size, and positions count buckets

  double start(int bucket) const;
  /// (b + 1/2) size, or 2^(b + 1/2) size: what stands for the bucket on an axis.
  double middle(int bucket) const;
};

/// Throws Error(usage) when the last bucket would lie beyond any text: log buckets are taken for uniform ones.
void check_reach(const BucketGeometry& geometry, int last_bucket);

/// A position for people: 512, 1k (1024), 1.5k, 128k, 1M; what has no short form in thousands of 1024 is written out.
std::string token_label(double tokens);

}  // namespace attention_plasticity

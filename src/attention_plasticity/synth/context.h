#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attention_plasticity/random/numpy_generator.h"
#include "attention_plasticity/synth/options.h"

namespace attention_plasticity {

/// The positions first, ..., first + count - 1.
struct TokenRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;

  std::uint64_t last() const { return first + count - 1; }
  double mean() const { return static_cast<double>(first) + (static_cast<double>(count) - 1) / 2; }
};

/// The positions of a document and their buckets.
class Context {
 public:
  explicit Context(const SynthOptions& options);

  std::uint64_t tokens() const { return tokens_; }
  std::size_t buckets() const { return buckets_; }
  std::size_t bucket_of(std::uint64_t position) const;
  TokenRange bucket(std::size_t index) const;

  /// The positions of one document's rows, ascending. With uniform spacing they are uniform over the context. With log
  /// spacing every bucket gets the same number, if it has so many positions, and they are uniform within it. No
  /// position is drawn twice unless there are more rows than tokens. Then every position occurs rows / tokens times,
  /// rounded down, and the remaining rows are drawn as above.
  std::vector<std::uint64_t> draw_positions(std::size_t rows, NumpyGenerator& generator) const;

  /// The expected number of rows in each bucket when a document has `rows` rows.
  std::vector<double> expected_rows(std::size_t rows) const;

 private:
  /// The number of rows of each bucket, for `rows` <= tokens() and log spacing.
  std::vector<std::size_t> shares(std::size_t rows) const;

  BucketSpacing spacing_;
  std::size_t buckets_;
  std::uint64_t bucket_size_;
  std::uint64_t tokens_;
};

/// The number of rows of a document: options.rows are spread evenly, and the first documents get one more.
std::size_t rows_of_example(const SynthOptions& options, std::size_t example);

/// The expected number of a file's rows in each bucket.
std::vector<double> expected_rows_by_bucket(const SynthOptions& options);

}  // namespace attention_plasticity

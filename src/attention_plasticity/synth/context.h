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

/// The positions of a document, and its buckets.
class Context {
 public:
  explicit Context(const SynthOptions& options);

  std::uint64_t tokens() const { return tokens_; }
  std::size_t buckets() const { return buckets_; }
  std::size_t bucket_of(std::uint64_t position) const;
  TokenRange bucket(std::size_t index) const;

  /// The positions of one document's rows, ascending. Uniform spacing: uniform over the context. Log spacing: the same
  /// number for each bucket, as far as it has so many positions, and uniform within it. No position comes twice unless
  /// there are more rows than tokens; then every one comes rows / tokens times, and the remainder as above.
  std::vector<std::uint64_t> draw_positions(std::size_t rows, NumpyGenerator& generator) const;

  /// The expected number of rows of each bucket, of `rows` rows of one document.
  std::vector<double> expected_rows(std::size_t rows) const;

 private:
  /// How many of `rows` <= tokens() rows each bucket gets, with log spacing.
  std::vector<std::size_t> shares(std::size_t rows) const;

  BucketSpacing spacing_;
  std::size_t buckets_;
  std::uint64_t bucket_size_;
  std::uint64_t tokens_;
};

/// The rows of a document: `rows` spread evenly, one more for each of the first ones.
std::size_t rows_of_example(const SynthOptions& options, std::size_t example);

/// The expected number of a file's rows in each bucket.
std::vector<double> expected_rows_by_bucket(const SynthOptions& options);

}  // namespace attention_plasticity

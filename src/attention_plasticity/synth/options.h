#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace attention_plasticity {

/// Where position buckets begin: at the multiples of `bucket_size`, or at the powers of two ([0, 2), [2, 4), [4, 8),
/// ...).
enum class BucketSpacing { uniform, log };

/// The noise of a row: normal, or Student's t of 5 degrees of freedom scaled to unit variance. The latter is
/// elliptical: one chi-square variable stretches the whole row, so that every projection of a row is a t variable.
enum class Tails { normal, heavy };

/// A dump whose truth is known (docs/synthetic.md). Sizes in noise deviations are root mean squares over the
/// components: a vector of size s has length s sqrt(dim), so that what they do to plasticity does not depend on `dim`.
struct SynthOptions {
  int layers = 2;
  int q_heads = 4;
  int k_heads = 2;
  std::size_t rows = 1000;    ///< of each file
  std::size_t dim = 64;       ///< components of a vector
  std::size_t examples = 16;  ///< documents, over which rows are spread evenly

  BucketSpacing spacing = BucketSpacing::uniform;
  std::size_t buckets = 16;       ///< with log spacing, at most 40
  std::size_t bucket_size = 128;  ///< tokens, >= 2; log spacing does not use it

  double slope = 1.0;           ///< drift of the query mean over the whole context, in noise deviations
  double mean = 0.5;            ///< constant part of the queries, in noise deviations: large means low plasticity
  double spectrum = 0.5;        ///< variance along axis i falls as (i + 1)^-spectrum; 0: isotropic
  double example_effect = 0.0;  ///< deviation of a shift that the queries of a document share, in noise deviations
  Tails tails = Tails::normal;
  bool bfloat16 = false;  ///< components rounded to bfloat16, as models that compute in it are captured

  std::optional<double> rope_theta;  ///< > 1: rows are rotated to their position; dim must be even
  std::optional<int> window;         ///< sliding window in tokens
  std::vector<int> sliding_layers;   ///< the layers that have it; empty: all

  /// Key pairs behind a head's true plasticity, spread over its cells, at least 2 for each. 8192 leave an error of at
  /// most 0.005. 0: truth.json holds the parameters only.
  std::size_t truth_pairs = 8192;
  std::uint64_t seed = 0;
};

/// Error(usage) that names the first option out of its range.
void check(const SynthOptions& options);

}  // namespace attention_plasticity

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "attention_plasticity/rotation.h"

namespace attention_plasticity {

/// Where position buckets begin: at the multiples of `bucket_size` (uniform), or at the powers of two (log: [0, 2),
/// [2, 4), [4, 8), ...).
enum class BucketSpacing { uniform, log };

/// The distribution of a row's noise: normal, or (heavy) Student's t with 5 degrees of freedom, scaled to unit
/// variance. The latter is elliptical: one chi-square variable scales the whole row, so that every projection of a row
/// is a t variable.
enum class Tails { normal, heavy };

/// The options of a dump whose truth is known (docs/synthetic.md). Sizes in noise deviations are root mean squares over
/// the components: a vector of size s has length s sqrt(dim), so that its effect on plasticity does not depend on
/// `dim`.
struct SynthOptions {
  int layers = 2;
  int q_heads = 4;
  int k_heads = 2;
  std::size_t rows = 1000;    ///< of each file
  std::size_t dim = 64;       ///< components of a vector
  std::size_t examples = 16;  ///< documents; rows are spread evenly over them

  BucketSpacing spacing = BucketSpacing::uniform;
  std::size_t buckets = 16;       ///< with log spacing, at most 40
  std::size_t bucket_size = 128;  ///< tokens, >= 2; log spacing does not use it

  double slope = 1.0;           ///< drift of the query mean over the whole context, in noise deviations
  double mean = 0.5;            ///< constant part of the queries, in noise deviations: large means low plasticity
  double spectrum = 0.5;        ///< the variance along axis i is proportional to (i + 1)^-spectrum; 0: isotropic
  double example_effect = 0.0;  ///< deviation of the shift shared by the queries of a document, in noise deviations
  Tails tails = Tails::normal;
  bool bfloat16 = false;  ///< true: components are rounded to bfloat16, as in captures of bfloat16 models

  std::optional<double> rope_theta;  ///< > 1: rows are rotated by their position; dim must be even
  /// The rest needs rope_theta.
  RotaryLayout rope_layout = RotaryLayout::half;
  std::optional<std::size_t> rope_dim;  ///< rotated components, an even number; none: all from rope_first on
  std::size_t rope_first = 0;           ///< index of the first rotated component

  std::optional<int> window;        ///< sliding window in tokens
  std::vector<int> sliding_layers;  ///< layers with that window; empty: all

  /// Key pairs from which a head's true plasticity is computed, spread over its cells, at least 4 for each. With 8192
  /// the error is at most 0.005. 0: truth.json holds only the parameters.
  std::size_t truth_pairs = 8192;
  std::uint64_t seed = 0;
  /// Seed of everything but the noise: of the truth, and of the documents' positions and shifts. Dumps with one
  /// document_seed and different seeds are captures of one truth on the same documents. None: `seed`.
  std::optional<std::uint64_t> document_seed;
};

/// The seed of everything but the noise.
inline std::uint64_t truth_seed(const SynthOptions& options) { return options.document_seed.value_or(options.seed); }

/// Throws Error(usage), which names the first option out of its range.
void check(const SynthOptions& options);

}  // namespace attention_plasticity

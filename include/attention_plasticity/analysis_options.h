#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

/// @file
/// What is measured of a head, and how. docs/method.md has the formulas.

namespace attention_plasticity {

/// How the queries of a bucket are modelled.
enum class Method {
  positional,  ///< normal along the line on position, independent of it elsewhere
  full,        ///< normal with the whole covariance of the bucket
  diagonal,    ///< normal with independent components
};
/// How pairs of keys are drawn: from a bucket of keys, or near the query.
enum class Sampler { bucket, local };
/// Weight of a cell in the head's mean: its queries, its pairs, or 1.
enum class Weighting { queries, pairs, uniform };
/// Unit of a sliding window.
enum class WindowUnit { tokens, buckets };
/// When vectors were captured: after the rotary embedding rotated them to their position, or before.
enum class Vectors { post, pre };

/// What is computed for one head, and how. The defaults are those of the program, and the names those of its
/// configuration.
struct AnalysisOptions {
  Method method = Method::positional;                      ///< model of the queries of a bucket
  Sampler sampler = Sampler::bucket;                       ///< how pairs of keys are drawn
  Weighting weighting = Weighting::queries;                ///< weight of a cell in ap_overall
  WindowUnit sliding_window_unit = WindowUnit::tokens;     ///< unit of RowsView::window
  std::optional<std::size_t> max_tokens_per_head = 50000;  ///< rows kept of a larger head, >= 1; none: all
  std::size_t normality_max_dims = 64;                     ///< components that get a Kolmogorov-Smirnov test; 0: none
  double p_alpha = 0.01;                                   ///< level of that test, in (0, 1)
  std::size_t num_pairs_per_bucket = 256;                  ///< key pairs drawn for a cell, >= 1
  double max_relative_distance = 0.05;                     ///< reach of the local sampler, in (0, 1]
  Vectors vectors = Vectors::post;                         ///< when the vectors were captured
  std::size_t num_triples = 4096;        ///< triples of position-exact plasticity; 0: it is not measured
  std::size_t empirical_queries = 1024;  ///< queries of its model-free check; 0: no check
  std::uint64_t seed = 0;                ///< of every random draw
  bool standard_errors = true;           ///< jackknife over examples
};

}  // namespace attention_plasticity

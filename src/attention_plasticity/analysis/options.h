#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "attention_plasticity/plasticity/options.h"

namespace attention_plasticity {

/// What is computed for one head, and how. The defaults are those of the program.
struct AnalysisOptions {
  Method method = Method::positional;
  Sampler sampler = Sampler::bucket;
  Weighting weighting = Weighting::queries;
  WindowUnit sliding_window_unit = WindowUnit::tokens;
  std::optional<std::size_t> max_tokens_per_head = 50000;  ///< rows kept of a larger file, >= 1; none: all
  std::size_t normality_max_dims = 64;                     ///< components that get a Kolmogorov-Smirnov test; 0: none
  double p_alpha = 0.01;                                   ///< level of that test, in (0, 1)
  std::size_t num_pairs_per_bucket = 256;                  ///< key pairs drawn for a cell, >= 1
  double max_relative_distance = 0.05;                     ///< reach of the local sampler, in (0, 1]
  Vectors vectors = Vectors::post;                         ///< when the vectors were captured
  std::size_t num_triples = 4096;        ///< triples of position-exact plasticity; 0: it is not measured
  std::size_t empirical_queries = 1024;  ///< queries of its model-free check; 0: no check
  std::uint64_t seed = 0;
  bool standard_errors = true;
  /// R² of a component without spread: 0, or 1 as in the Python toolkit.
  bool constant_component_fits = false;
};

}  // namespace attention_plasticity

#pragma once

#include <span>
#include <string>
#include <string_view>

#include "attention_plasticity/analysis/result.h"
#include "attention_plasticity/run/config.h"

// The tables of a run, as RFC 4180 CSV with a header and LF. Rows follow (layer, q_head, then the columns in order).
//
//   head_metrics.csv            one row a head; the columns of metric_columns()
//   head_bucket_plasticity.csv  layer, q_head, k_head, q_bucket, k_bucket, plasticity, n_pairs
//   head_component_weights.csv  layer, q_head, k_head, component, r2, weight
//   head_time_plasticity.csv    layer, q_head, k_head, q_bucket, position, plasticity, n_pairs, n_queries
//   head_distance_plasticity.csv  layer, q_head, k_head, near_bin, far_bin, plasticity, logit_fixed, logit_spread,
//                               n_triples
//
// Numbers are written in the shortest form that reads back to the same double (std::to_chars), so that a file holds
// all digits and equal results have equal bytes. What does not exist (the mean of no pairs, the error of too few
// examples) is an empty field: readers of CSV agree on that, and not on how to spell NaN.
//
// Columns of standard errors stand only where they were asked for, those of position-exact plasticity (and the table by
// distance) only where the rotation is known. With compat python the columns are exactly those of the Python toolkit:
// neither of these, `ap_bucket` for plasticity and no n_pairs, `component_r2` and `component_weight`, and no table over
// time.

namespace attention_plasticity {

/// A real-valued column of head_metrics.csv.
struct MetricColumn {
  /// What the column belongs to.
  enum class Part { always, errors, exact, exact_errors };

  std::string_view name;
  double (*value)(const HeadResult&);
  Part part = Part::always;
};

/// Whether position-exact plasticity was measured.
bool has_exact(std::span<const HeadResult> results);

/// The columns after layer, q_head, k_head, n_q_tokens, n_k_tokens and d_model; n_triples, a count, follows them.
std::span<const MetricColumn> metric_columns();

/// The tables of `results`, which are sorted by head.
std::string head_metrics_csv(std::span<const HeadResult> results, const RunConfig& config);
std::string bucket_csv(std::span<const HeadResult> results, const RunConfig& config);
std::string component_csv(std::span<const HeadResult> results, const RunConfig& config);
std::string time_csv(std::span<const HeadResult> results);
std::string distance_csv(std::span<const HeadResult> results);

}  // namespace attention_plasticity

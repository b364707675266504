#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/head_result.h"
#include "attention_plasticity/results/schema.h"

namespace attention_plasticity {

/// One column of head_metrics.csv over all heads. Heads without a value do not count; of none, all figures are NaN.
struct ColumnSummary {
  std::string_view column;
  std::size_t count = 0;
  double mean, deviation, min, quartile1, median, quartile3, max;  ///< deviation with n - 1; quartiles interpolated
};

/// The columns that the schema puts into the summary, as far as the run has them, in the order of head_metrics.csv.
std::vector<ColumnSummary> summarize(std::span<const HeadResult> results, const RunParts& run);

/// The summaries as an aligned table for people.
std::string summary_table(std::span<const ColumnSummary> columns);

/// A measure over the whole model.
struct ModelSummary {
  std::size_t heads = 0;  ///< with a value
  double mean, error;     ///< error: NaN when it is not known
  double share_below, share_above;
};

/// Where a head counts as fixed, and as swayed by the query.
inline constexpr double low_plasticity = 0.25;
inline constexpr double high_plasticity = 0.75;

/// A column of head_metrics.csv over the heads that have a value. `without_group` holds its mean over heads with one
/// group of examples left out, for each group.
ModelSummary summarize_model(std::string_view column, std::span<const HeadResult> results,
                             std::span<const double> without_group);

/// Whether pooled or position-exact plasticity was measured.
bool has_plasticity(const HeadResult& result);

/// The heads of a run that have no plasticity.
struct WithoutPlasticity {
  std::size_t heads = 0;
  std::string reason;  ///< why, as a part of a sentence; empty when there is no such head
};
WithoutPlasticity heads_without_plasticity(std::span<const HeadResult> results);

/// A line about heads whose queries, or whose keys, are all the same vector, with the first of them; empty when there
/// are none. Which key wins says nothing about such a head.
std::string equal_vectors_line(std::span<const HeadResult> results);

/// One line that begins with `measure`: the mean, its error, the shares.
std::string model_line(std::string_view measure, const ModelSummary& model);

}  // namespace attention_plasticity

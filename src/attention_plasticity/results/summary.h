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

/// Summarizes the columns that the schema puts into the summary and that the run has, in the order of head_metrics.csv.
std::vector<ColumnSummary> summarize(std::span<const HeadResult> results, const WrittenColumns& run);

/// Returns the summaries as an aligned table for people.
std::string summary_table(std::span<const ColumnSummary> columns);

/// A measure over the whole model.
struct ModelSummary {
  std::string_view measure;  ///< a column of head_metrics.csv
  std::size_t heads = 0;     ///< with a value
  double mean, error;        ///< error: NaN when it is not known
  double share_below, share_above;
};

/// Bounds below which a head counts as fixed, and above which as swayed by the query.
inline constexpr double low_plasticity = 0.25;
inline constexpr double high_plasticity = 0.75;

/// Summarizes a column of head_metrics.csv over the heads that have a value. `without_group` holds its mean over heads
/// with one group of examples left out, for each group. `column` must outlive what is returned.
ModelSummary summarize_model(std::string_view column, std::span<const HeadResult> results,
                             std::span<const double> without_group);

/// The statistics over heads that run.json and the terminal show.
struct RunSummary {
  WrittenColumns written;              ///< decides on tables and columns
  std::vector<ColumnSummary> columns;  ///< from `summarize`
  std::vector<ModelSummary> models;    ///< headline measures that the run has, in the order of head_metrics.csv
};
/// Computes them. `without_group` holds the means over heads with one group of examples left out.
RunSummary summarize_run(std::span<const HeadResult> results, const WrittenColumns& run,
                         const WithoutGroup& without_group);

/// Returns true if pooled or position-exact plasticity was measured.
bool has_plasticity(const HeadResult& result);

/// The heads of a run that have no plasticity.
struct WithoutPlasticity {
  std::size_t heads = 0;
  std::string reason;  ///< why, as a part of a sentence; empty when there is no such head
};
WithoutPlasticity heads_without_plasticity(std::span<const HeadResult> results);

/// Returns a line about heads whose queries, or whose keys, are all the same vector, with the first of them; empty when
/// there are none. The figures of such a head say nothing about the model.
std::string equal_vectors_line(std::span<const HeadResult> results);

/// Returns one line that begins with `title`: the mean, its error, the shares.
std::string model_line(std::string_view title, const ModelSummary& model);

}  // namespace attention_plasticity

#pragma once

#include <span>
#include <string>
#include <string_view>

#include "attention_plasticity/analysis/head_analysis.h"
#include "attention_plasticity/head_result.h"
#include "attention_plasticity/results/output_files.h"
#include "attention_plasticity/results/schema.h"
#include "attention_plasticity/run/config.h"

// What the columns of results/schema.h hold: each has its value here, and nothing else knows both.

namespace attention_plasticity {

/// What was measured, as far as it decides on tables and columns.
RunParts run_parts(std::span<const HeadResult> results, const RunConfig& config);

/// Gives a table to `sink` as CSV, piece by piece, with the columns that `run` has. `results` are sorted by head; rows
/// follow (layer, q_head, then the columns in order). `without_group` has an entry for each of them, or none; only the
/// table of groups reads it.
void write_table(TableId table, std::span<const HeadResult> results, const RunParts& run,
                 std::span<const WithoutGroup> without_group, const Sink& sink);

/// The same as a text.
std::string table_text(TableId table, std::span<const HeadResult> results, const RunParts& run,
                       std::span<const WithoutGroup> without_group = {});

/// The same with the columns of a run that measured all of `results`.
inline std::string table_text(TableId table, std::span<const HeadResult> results, const RunConfig& config,
                              std::span<const WithoutGroup> without_group = {}) {
  return table_text(table, results, run_parts(results, config), without_group);
}

/// The same table as values. A table that the run does not write is empty.
Table table_of(TableId table, std::span<const HeadResult> results, const RunParts& run,
               std::span<const WithoutGroup> without_group);

/// A number of a head: a column of head_metrics.csv. NaN where it does not exist. The column must be in the schema.
double metric_value(const HeadResult& head, std::string_view column);

}  // namespace attention_plasticity

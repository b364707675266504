#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/head_result.h"
#include "attention_plasticity/results/csv.h"
#include "attention_plasticity/results/result_files.h"
#include "attention_plasticity/results/schema.h"
#include "attention_plasticity/rows.h"

// The tables of results/schema.h, written from measured heads and found again in files.

namespace attention_plasticity {

/// Writes a table as CSV to `sink`, piece by piece, with the columns that `run` has. `results` are sorted by head; rows
/// follow (layer, q_head, then the columns in order). `without_group` has an entry for each of them, or none; only the
/// table of groups reads it.
void write_table(TableId table, std::span<const HeadResult> results, const WrittenColumns& run,
                 std::span<const WithoutGroup> without_group, const Sink& sink);

/// Returns the text that `write_table` writes.
std::string table_text(TableId table, std::span<const HeadResult> results, const WrittenColumns& run,
                       std::span<const WithoutGroup> without_group = {});

/// Returns the values that `write_table` writes. A table that the run does not write is empty.
Table table_of(TableId table, std::span<const HeadResult> results, const WrittenColumns& run,
               std::span<const WithoutGroup> without_group);

/// Returns the column of head_metrics.csv of this name. Throws Error(usage) when the schema has none.
const ResultColumn& metrics_column(std::string_view name);

/// Returns a number of a head: a column of head_metrics.csv. NaN where it does not exist.
double metric_value(const HeadResult& head, const ResultColumn& column);

/// Returns the index of a column of the schema in a table that was read. Looks for the project's own name first, then
/// for the names that other programs use. None when the table does not have it.
std::optional<std::size_t> find_column(const CsvTable& table, const ResultColumn& column);

/// Returns the index of a column that must exist. Throws Error(input) with the names that were looked for.
std::size_t column_place(const CsvTable& table, TableId id, std::string_view column);

/// Returns the index of the column that counts the samples behind `column` (ResultColumn::counted_by). None when the
/// table does not have it.
std::optional<std::size_t> count_place(const CsvTable& table, TableId id, std::string_view column);

/// The measures of each head: head_metrics.csv of a run, or any table with `layer`, `q_head` and `k_head`.
class HeadMetrics {
 public:
  /// Throws Error(input) for a missing id column, for a table without rows, and for a head with two rows.
  explicit HeadMetrics(CsvTable table);

  const std::string& file() const { return table_.file; }
  /// Sorted by layer and query head.
  const std::vector<HeadId>& heads() const { return heads_; }
  /// The names of the columns other than the ids.
  std::vector<std::string_view> measures() const;
  bool has(std::string_view measure) const;
  /// The values of a column, by head; NaN for an empty field. Throws Error(input) for a field that is not a number, and
  /// Error(usage), with the nearest name, for a column that does not exist.
  std::vector<double> values(std::string_view measure) const;

 private:
  CsvTable table_;
  std::vector<HeadId> heads_;
  std::vector<std::size_t> rows_;  // row of the table, by head
};

/// Reads the metrics of a run. Throws Error(input) when the run has none.
HeadMetrics read_head_metrics(const ResultFiles& files);

}  // namespace attention_plasticity

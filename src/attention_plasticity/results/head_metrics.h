#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/results/csv_table.h"
#include "attention_plasticity/results/result_files.h"
#include "attention_plasticity/rows.h"

namespace attention_plasticity {

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

/// The metrics of a run. Throws Error(input) when the run has none.
HeadMetrics read_head_metrics(const ResultFiles& files);

}  // namespace attention_plasticity

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/base/head_id.h"
#include "attention_plasticity/results/csv_table.h"
#include "attention_plasticity/results/result_files.h"

namespace attention_plasticity {

/// What a run measured of each head: head_metrics.csv, or any table with `layer`, `q_head` and `k_head`.
class HeadMetrics {
 public:
  /// Throws Error(input) for a missing id column, no rows, and a head that has two.
  explicit HeadMetrics(CsvTable table);

  const std::string& file() const { return table_.file; }
  /// By layer and query head, whatever the order in the file.
  const std::vector<HeadId>& heads() const { return heads_; }
  /// The names of the columns other than the ids.
  std::vector<std::string_view> measures() const;
  bool has(std::string_view measure) const;
  /// A column by head, NaN where it is empty. Throws Error(input) for a field that is no number, and Error(usage), with
  /// the nearest name, for a column that is not there.
  std::vector<double> values(std::string_view measure) const;

 private:
  CsvTable table_;
  std::vector<HeadId> heads_;
  std::vector<std::size_t> rows_;  // of the table, by head
};

/// The metrics of a run. Throws Error(input) when there are none.
HeadMetrics read_head_metrics(const ResultFiles& files);

}  // namespace attention_plasticity

#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/results/csv_table.h"

namespace attention_plasticity {

/// A row of head_metrics.csv: a query head and the key head it reads.
struct MeasuredHead {
  int layer = 0;
  int q_head = 0;
  int k_head = 0;

  auto operator<=>(const MeasuredHead&) const = default;
};

/// What a run measured of each head: head_metrics.csv, or any table with `layer`, `q_head` and `k_head`.
class HeadMetrics {
 public:
  /// Throws Error(input) for a missing id column, no rows, and a head that has two.
  explicit HeadMetrics(CsvTable table);

  const std::string& file() const { return table_.file; }
  /// By layer and query head, whatever the order in the file.
  const std::vector<MeasuredHead>& heads() const { return heads_; }
  /// The names of the columns other than the ids.
  std::vector<std::string_view> measures() const;
  bool has(std::string_view measure) const;
  /// A column by head, NaN where it is empty. Throws Error(input) for a field that is no number, and Error(usage), with
  /// the nearest name, for a column that is not there.
  std::vector<double> values(std::string_view measure) const;

 private:
  CsvTable table_;
  std::vector<MeasuredHead> heads_;
  std::vector<std::size_t> rows_;  // of the table, by head
};

/// Where the metrics are: `path`, or head_metrics.csv in it when it is a folder.
std::filesystem::path metrics_file(const std::filesystem::path& path);

HeadMetrics read_head_metrics(const std::filesystem::path& path);

}  // namespace attention_plasticity

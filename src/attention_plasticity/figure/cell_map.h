#pragma once

#include <cstdint>
#include <vector>

#include "attention_plasticity/base/matrix.h"
#include "attention_plasticity/figure/figure_table.h"
#include "attention_plasticity/results/csv.h"

namespace attention_plasticity {

/// Plasticity by two axes of buckets or bins, aggregated over all heads with their counts as weights. Rows and columns
/// run without gaps from the first to the last that have a value, unless these are too many to draw: then only those
/// that have a value are there, side by side. A cell without a value is NaN.
struct CellMap {
  std::vector<std::int64_t> rows;     ///< the bucket or bin of each row, ascending
  std::vector<std::int64_t> columns;  ///< likewise
  Matrix cells;
  Matrix counts;            ///< pairs or triples of a cell, summed over heads; NaN for a cell without a value
  Matrix support;           ///< supporting_count of a cell; NaN for a cell without a value
  bool has_counts = false;  ///< whether the table has counts; otherwise every head counts as one
  std::size_t heads = 0;    ///< heads with any value
};

/// Where rows or columns begin, and where the last one ends: their numbers and the number after the last.
std::vector<std::int64_t> bin_edges(const std::vector<std::int64_t>& bins);

// Both throw Error(input) when a column or all values are missing.

/// The map of head_bucket_plasticity.csv. Rows are query buckets, columns are the key buckets before them. Also reads
/// the column names of the Python toolkit.
CellMap bucket_map(const CsvTable& table, Aggregate aggregate);

/// The map of head_distance_plasticity.csv. Rows are far bins, columns are near bins.
CellMap distance_map(const CsvTable& table, Aggregate aggregate);

/// The smallest distance in bin b, in tokens: 2^b - 1.
double distance_bin_start(std::int64_t bin);

}  // namespace attention_plasticity

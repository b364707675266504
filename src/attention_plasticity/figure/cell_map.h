#pragma once

#include "attention_plasticity/base/matrix.h"
#include "attention_plasticity/figure/figure_table.h"
#include "attention_plasticity/results/csv_table.h"

namespace attention_plasticity {

/// Plasticity over two axes of buckets or bins, over all heads. Rows and columns run without gaps from the first to the
/// last that have a value; what has none is NaN.
struct CellMap {
  int first_row = 0;
  int first_column = 0;
  Matrix cells;
};

// Both throw Error(input) when a column or all values are missing.

/// Of head_bucket_plasticity.csv: query buckets by key buckets, those before the query's own. Takes the Python
/// toolkit's names of columns too.
CellMap bucket_map(const CsvTable& table, Aggregate aggregate);

/// Of head_distance_plasticity.csv: far bins by near bins.
CellMap distance_map(const CsvTable& table, Aggregate aggregate);

/// The first distance of bin b in tokens: 2^b - 1.
double distance_bin_start(int bin);

}  // namespace attention_plasticity

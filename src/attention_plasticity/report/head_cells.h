#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/results/csv_table.h"
#include "attention_plasticity/results/head_metrics.h"
#include "attention_plasticity/results/schema.h"

namespace attention_plasticity {

/// The same cells for all heads, so that they can be averaged and packed.
struct HeadCells {
  struct Keys {
    std::string name;
    std::vector<int> values;  ///< by cell
  };
  struct Column {
    std::string name;
    std::vector<double> values;  ///< head after head, cell after cell; NaN where a head has no such row
  };

  std::size_t num_heads = 0;
  std::size_t num_cells = 0;  ///< that occur in any head, ascending by key
  std::vector<Keys> keys;     ///< those that the table has
  std::vector<Column> columns;
  std::size_t strangers = 0;  ///< rows left out: of heads that are not in the metrics

  const Column* find(std::string_view column) const;
};

/// Brings the rows of a table in order. Keys and columns are those that the schema gives to the page, under its names,
/// whatever the table calls them. Throws Error(input) for a column that is needed and missing, and for two rows of one
/// cell.
HeadCells head_cells(const CsvTable& table, const HeadMetrics& metrics, TableId id);

}  // namespace attention_plasticity

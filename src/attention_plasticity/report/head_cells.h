#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/results/csv.h"
#include "attention_plasticity/results/head_tables.h"
#include "attention_plasticity/results/schema.h"

namespace attention_plasticity {

/// A table with the same cells for every head, so that cells can be averaged and packed.
struct HeadCells {
  struct Keys {
    std::string name;
    std::vector<std::int64_t> values;  ///< by cell
  };
  struct Column {
    std::string name;
    std::vector<double> values;  ///< head after head, cell after cell; NaN where a head has no such row
  };

  std::size_t num_heads = 0;
  std::size_t num_cells = 0;  ///< cells that occur in any head, in ascending order of keys
  std::vector<Keys> keys;     ///< the keys that the table has
  std::vector<Column> columns;
  std::size_t strangers = 0;  ///< rows left out because their heads are not in the metrics

  const Column* find(std::string_view column) const;
};

/// Sorts the rows of a table by head and cell. Keys and columns are those that the schema marks for the page, under the
/// names of the schema. Throws Error(input) when a column that is needed is missing, and for two rows with the same
/// head and cell.
HeadCells head_cells(const CsvTable& table, const HeadMetrics& metrics, TableId id);

}  // namespace attention_plasticity

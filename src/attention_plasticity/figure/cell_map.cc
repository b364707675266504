#include "attention_plasticity/figure/cell_map.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "attention_plasticity/error.h"
#include "attention_plasticity/results/table_columns.h"

namespace attention_plasticity {
namespace {

using ValuesByCell = std::map<std::pair<int, int>, std::vector<double>>;

// The values of every (row, column) for which `counts` holds.
template <typename Counts>
ValuesByCell values_by_cell(const CsvTable& table, std::size_t row_column, std::size_t column_column,
                            std::size_t value_column, Counts&& counts) {
  ValuesByCell values;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const std::pair cell(table.index(i, row_column), table.index(i, column_column));
    const double value = table.number(i, value_column);
    if (!std::isnan(value) && counts(cell.first, cell.second)) values[cell].push_back(value);
  }
  if (values.empty()) throw Error(ErrorKind::input, "has no value of plasticity to draw", table.file);
  return values;
}

CellMap map_of(ValuesByCell values, Aggregate aggregate, const CsvTable& table) {
  const auto by_column = [](const auto& a, const auto& b) { return a.first.second < b.first.second; };
  const auto [left, right] = std::ranges::minmax_element(values, by_column);
  CellMap map;
  map.first_row = values.begin()->first.first;
  map.first_column = left->first.second;
  const auto rows = static_cast<std::size_t>(values.rbegin()->first.first - map.first_row) + 1;
  const auto columns = static_cast<std::size_t>(right->first.second - map.first_column) + 1;
  check_map_size(rows, columns, table.file);
  map.cells = Matrix(rows, columns);
  std::fill_n(map.cells.data(), rows * columns, std::numeric_limits<double>::quiet_NaN());
  for (auto& [cell, heads] : values) {
    map.cells.row(static_cast<std::size_t>(cell.first -
                                           map.first_row))[static_cast<std::size_t>(cell.second - map.first_column)] =
        aggregated(std::move(heads), aggregate);
  }
  return map;
}

}  // namespace

CellMap bucket_map(const CsvTable& table, Aggregate aggregate) {
  const std::size_t query = column_place(table, TableId::buckets, "q_bucket");
  const std::size_t key = column_place(table, TableId::buckets, "k_bucket");
  const std::size_t value = column_place(table, TableId::buckets, "plasticity");
  const auto is_causal = [](int q_bucket, int k_bucket) { return k_bucket < q_bucket; };
  return map_of(values_by_cell(table, query, key, value, is_causal), aggregate, table);
}

CellMap distance_map(const CsvTable& table, Aggregate aggregate) {
  const std::size_t far = column_place(table, TableId::distance, "far_bin");
  const std::size_t near = column_place(table, TableId::distance, "near_bin");
  const std::size_t value = column_place(table, TableId::distance, "plasticity");
  return map_of(values_by_cell(table, far, near, value, [](int, int) { return true; }), aggregate, table);
}

double distance_bin_start(int bin) { return std::exp2(bin) - 1; }

}  // namespace attention_plasticity

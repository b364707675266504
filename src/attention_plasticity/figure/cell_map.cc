#include "attention_plasticity/figure/cell_map.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "attention_plasticity/error.h"
#include "attention_plasticity/results/table_columns.h"

namespace attention_plasticity {
namespace {

struct Cell {
  std::vector<CountedValue> heads;
  double count = 0;
};
using Cells = std::map<std::pair<int, int>, Cell>;

// Which columns of a table hold the keys of a cell, its value and its count.
struct CellColumns {
  TableId table;
  std::string_view row;
  std::string_view column;
  std::string_view value = "plasticity";
};

Matrix blank_matrix(std::size_t rows, std::size_t columns) {
  Matrix matrix(rows, columns);
  std::fill_n(matrix.data(), rows * columns, std::numeric_limits<double>::quiet_NaN());
  return matrix;
}

CellMap map_of(const Cells& cells, std::size_t heads, Aggregate aggregate, const CsvTable& table) {
  const auto by_column = [](const auto& a, const auto& b) { return a.first.second < b.first.second; };
  const auto [left, right] = std::ranges::minmax_element(cells, by_column);
  CellMap map;
  map.first_row = cells.begin()->first.first;
  map.first_column = left->first.second;
  map.heads = heads;
  const auto rows = static_cast<std::size_t>(cells.rbegin()->first.first - map.first_row) + 1;
  const auto columns = static_cast<std::size_t>(right->first.second - map.first_column) + 1;
  check_map_size(rows, columns, table.file);
  map.cells = blank_matrix(rows, columns);
  map.counts = blank_matrix(rows, columns);
  map.support = blank_matrix(rows, columns);
  for (const auto& [place, cell] : cells) {
    const auto row = static_cast<std::size_t>(place.first - map.first_row);
    const auto column = static_cast<std::size_t>(place.second - map.first_column);
    map.cells.row(row)[column] = aggregated(cell.heads, aggregate);
    map.counts.row(row)[column] = cell.count;
    map.support.row(row)[column] = supporting_count(cell.count, cell.heads.size(), heads);
  }
  return map;
}

// The map of the cells (row, column) for which `is_drawn` holds.
template <typename IsDrawn>
CellMap cell_map(const CsvTable& table, const CellColumns& columns, Aggregate aggregate, IsDrawn&& is_drawn) {
  const auto place = [&](std::string_view column) { return column_place(table, columns.table, column); };
  const std::size_t layer = place("layer");
  const std::size_t q_head = place("q_head");
  const std::size_t row_column = place(columns.row);
  const std::size_t column_column = place(columns.column);
  const std::size_t value_column = place(columns.value);
  const auto count_column = count_place(table, columns.table, columns.value);
  Cells cells;
  std::set<std::pair<int, int>> heads;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const std::pair cell(table.index(i, row_column), table.index(i, column_column));
    const CountedValue head{table.number(i, value_column), count_column ? table.number(i, *count_column) : 1};
    if (std::isnan(head.value) || !(head.count > 0) || !is_drawn(cell.first, cell.second)) continue;
    heads.emplace(table.index(i, layer), table.index(i, q_head));
    cells[cell].heads.push_back(head);
    cells[cell].count += head.count;
  }
  if (cells.empty()) throw Error(ErrorKind::input, "has no value of plasticity to draw", table.file);
  CellMap map = map_of(cells, heads.size(), aggregate, table);
  map.has_counts = count_column.has_value();
  return map;
}

}  // namespace

CellMap bucket_map(const CsvTable& table, Aggregate aggregate) {
  return cell_map(table, {TableId::buckets, "q_bucket", "k_bucket"}, aggregate,
                  [](int q_bucket, int k_bucket) { return k_bucket < q_bucket; });
}

CellMap distance_map(const CsvTable& table, Aggregate aggregate) {
  return cell_map(table, {TableId::distance, "far_bin", "near_bin"}, aggregate, [](int, int) { return true; });
}

double distance_bin_start(int bin) { return std::exp2(bin) - 1; }

}  // namespace attention_plasticity

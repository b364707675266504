#include "attention_plasticity/figure/cell_map.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "attention_plasticity/error.h"
#include "attention_plasticity/results/head_tables.h"

namespace attention_plasticity {
namespace {

struct Cell {
  std::vector<CountedValue> heads;
  double count = 0;
};
using Cells = std::map<std::pair<std::int64_t, std::int64_t>, Cell>;

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

using Bins = std::set<std::int64_t>;

// All bins from the first to the last.
std::vector<std::int64_t> without_gaps(const Bins& bins) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(*bins.rbegin() - *bins.begin()) + 1);
  std::iota(all.begin(), all.end(), *bins.begin());
  return all;
}

// Bins on an axis that may be drawn without gaps. More would be narrower than a dot.
constexpr std::int64_t most_on_axis = 2048;

bool is_narrow(const Bins& bins) { return *bins.rbegin() - *bins.begin() < most_on_axis; }

std::size_t place_in(const std::vector<std::int64_t>& bins, std::int64_t bin) {
  return static_cast<std::size_t>(std::ranges::lower_bound(bins, bin) - bins.begin());
}

CellMap map_of(const Cells& cells, std::size_t heads, Aggregate aggregate, const CsvTable& table) {
  Bins of_rows;
  Bins of_columns;
  for (const auto& [place, cell] : cells) {
    of_rows.insert(place.first);
    of_columns.insert(place.second);
  }
  CellMap map;
  const bool has_gaps = !is_narrow(of_rows) || !is_narrow(of_columns);
  map.rows = has_gaps ? std::vector(of_rows.begin(), of_rows.end()) : without_gaps(of_rows);
  map.columns = has_gaps ? std::vector(of_columns.begin(), of_columns.end()) : without_gaps(of_columns);
  map.heads = heads;
  const std::size_t rows = map.rows.size();
  const std::size_t columns = map.columns.size();
  check_map_size(rows, columns, table.file);
  map.cells = blank_matrix(rows, columns);
  map.counts = blank_matrix(rows, columns);
  map.support = blank_matrix(rows, columns);
  for (const auto& [place, cell] : cells) {
    const std::size_t row = place_in(map.rows, place.first);
    const std::size_t column = place_in(map.columns, place.second);
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
    const std::pair cell(table.whole_number(i, row_column), table.whole_number(i, column_column));
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

std::vector<std::int64_t> bin_edges(const std::vector<std::int64_t>& bins) {
  std::vector<std::int64_t> edges = bins;
  const std::int64_t last = bins.back();
  edges.push_back(last < std::numeric_limits<std::int64_t>::max() ? last + 1 : last);
  return edges;
}

CellMap bucket_map(const CsvTable& table, Aggregate aggregate) {
  return cell_map(table, {TableId::buckets, "q_bucket", "k_bucket"}, aggregate,
                  [](std::int64_t q_bucket, std::int64_t k_bucket) { return k_bucket < q_bucket; });
}

CellMap distance_map(const CsvTable& table, Aggregate aggregate) {
  return cell_map(table, {TableId::distance, "far_bin", "near_bin"}, aggregate,
                  [](std::int64_t, std::int64_t) { return true; });
}

double distance_bin_start(std::int64_t bin) { return std::exp2(static_cast<double>(bin)) - 1; }

}  // namespace attention_plasticity

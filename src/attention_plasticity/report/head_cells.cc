#include "attention_plasticity/report/head_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "attention_plasticity/error.h"
#include "attention_plasticity/results/head_tables.h"

namespace attention_plasticity {
namespace {

constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

struct FoundColumn {
  std::string name;  // the schema's
  std::size_t at = 0;
};

// The columns of the table for which `wanted` holds.
template <typename Wanted>
std::vector<FoundColumn> find_all(const CsvTable& table, TableId id, Wanted&& wanted) {
  std::vector<FoundColumn> found;
  for (const ResultColumn& column : result_table(id).columns) {
    if (!column.in_page || is_head_id(column) || !wanted(column)) continue;
    const std::optional<std::size_t> at =
        column.is_needed ? column_place(table, id, column.name) : find_column(table, column);
    if (at) found.push_back({std::string(column.name), *at});
  }
  return found;
}

// For each row of the table: the index of its head in the metrics, or none.
std::vector<std::size_t> heads_of_rows(const CsvTable& table, const HeadMetrics& metrics, TableId id) {
  std::map<std::pair<int, int>, std::size_t> places;
  for (std::size_t i = 0; i < metrics.heads().size(); ++i) {
    places[{metrics.heads()[i].layer, metrics.heads()[i].q_head}] = i;
  }
  const std::size_t layer = column_place(table, id, "layer");
  const std::size_t q_head = column_place(table, id, "q_head");
  std::vector<std::size_t> heads(table.rows.size(), none);
  for (std::size_t row = 0; row < heads.size(); ++row) {
    const auto place = places.find({table.index(row, layer), table.index(row, q_head)});
    if (place != places.end()) heads[row] = place->second;
  }
  return heads;
}

using CellPlace = std::vector<std::int64_t>;

// For each row of the table: its cell; empty for a head that was not measured.
std::vector<CellPlace> cells_of_rows(const CsvTable& table, const std::vector<std::size_t>& heads,
                                     const std::vector<FoundColumn>& keys) {
  std::vector<CellPlace> cells(table.rows.size());
  for (std::size_t row = 0; row < cells.size(); ++row) {
    if (heads[row] == none) continue;
    cells[row].reserve(keys.size());
    for (const FoundColumn& key : keys) cells[row].push_back(table.whole_number(row, key.at));
  }
  return cells;
}

// For each head and cell: the row of the table, or none.
std::vector<std::size_t> rows_of_places(const CsvTable& table, const std::vector<std::size_t>& heads,
                                        const std::vector<CellPlace>& cells, const std::vector<CellPlace>& sorted,
                                        std::size_t num_heads) {
  std::vector<std::size_t> rows(num_heads * sorted.size(), none);
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    if (heads[row] == none) continue;
    const auto cell = static_cast<std::size_t>(std::ranges::lower_bound(sorted, cells[row]) - sorted.begin());
    std::size_t& place = rows[heads[row] * sorted.size() + cell];
    if (place != none) {
      throw Error(ErrorKind::input,
                  fmt::format("lines {} and {} have the same head and cell", table.lines[place], table.lines[row]),
                  table.file);
    }
    place = row;
  }
  return rows;
}

}  // namespace

const HeadCells::Column* HeadCells::find(std::string_view column) const {
  const auto found = std::ranges::find(columns, column, &Column::name);
  return found == columns.end() ? nullptr : &*found;
}

HeadCells head_cells(const CsvTable& table, const HeadMetrics& metrics, TableId id) {
  const std::vector<std::size_t> heads = heads_of_rows(table, metrics, id);
  const std::vector<FoundColumn> keys = find_all(table, id, [](const ResultColumn& column) { return column.is_key; });
  const std::vector<FoundColumn> values =
      find_all(table, id, [](const ResultColumn& column) { return !column.is_key; });
  const std::vector<CellPlace> cells = cells_of_rows(table, heads, keys);
  std::set<CellPlace> present;
  for (std::size_t row = 0; row < cells.size(); ++row) {
    if (heads[row] != none) present.insert(cells[row]);
  }
  const std::vector<CellPlace> sorted(present.begin(), present.end());

  HeadCells result;
  result.num_heads = metrics.heads().size();
  result.num_cells = sorted.size();
  result.strangers = static_cast<std::size_t>(std::ranges::count(heads, none));
  for (std::size_t k = 0; k < keys.size(); ++k) {
    std::vector<std::int64_t> key(sorted.size());
    std::ranges::transform(sorted, key.begin(), [k](const CellPlace& cell) { return cell[k]; });
    result.keys.push_back({keys[k].name, std::move(key)});
  }
  const std::vector<std::size_t> rows = rows_of_places(table, heads, cells, sorted, result.num_heads);
  for (const FoundColumn& value : values) {
    HeadCells::Column column{value.name, std::vector<double>(rows.size())};
    std::ranges::transform(rows, column.values.begin(), [&](std::size_t row) {
      return row == none ? std::numeric_limits<double>::quiet_NaN() : table.number(row, value.at);
    });
    result.columns.push_back(std::move(column));
  }
  return result;
}

}  // namespace attention_plasticity

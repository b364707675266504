#include "attention_plasticity/tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "attention_plasticity/error.h"
#include "attention_plasticity/results/csv_table.h"
#include "attention_plasticity/results/result_files.h"
#include "attention_plasticity/results/schema.h"
#include "attention_plasticity/results/table_columns.h"

namespace attention_plasticity {

std::vector<TableInfo> table_infos() {
  std::vector<TableInfo> infos;
  infos.reserve(table_count);
  for (const ResultTable& table : result_tables()) {
    TableInfo& info = infos.emplace_back(TableInfo{table.id, table.name, table.file, table.meaning, {}});
    for (const ResultColumn& column : table.columns) {
      info.columns.push_back({column.name, column.type, column.meaning, column.range.low, column.range.high,
                              column.is_key, column.error_of});
    }
  }
  return infos;
}

const TableColumn* Table::find(std::string_view name) const {
  const auto found = std::ranges::find(columns, name, &TableColumn::name);
  return found == columns.end() ? nullptr : &*found;
}

std::vector<double> Table::numbers(std::string_view name) const {
  const TableColumn* column = find(name);
  if (column == nullptr) {
    throw Error(ErrorKind::usage, fmt::format("{} has no column {}", result_table(id).file, name));
  }
  return std::visit([](const auto& values) { return std::vector<double>(values.begin(), values.end()); },
                    column->values);
}

Table read_table(const std::filesystem::path& folder, TableId id) {
  const CsvTable csv = ResultFiles(folder, id, {id}).read(id);
  Table table{.id = id, .rows = csv.rows.size(), .columns = {}};
  for (const ResultColumn& column : result_table(id).columns) {
    const std::optional<std::size_t> place = find_column(csv, column);
    if (!place) continue;
    std::vector<double> numbers(csv.rows.size());
    for (std::size_t row = 0; row < numbers.size(); ++row) numbers[row] = csv.number(row, *place);
    if (column.type == ColumnType::integer) {
      table.columns.push_back({std::string(column.name), std::vector<std::int64_t>(numbers.begin(), numbers.end())});
    } else {
      table.columns.push_back({std::string(column.name), std::move(numbers)});
    }
  }
  return table;
}

}  // namespace attention_plasticity

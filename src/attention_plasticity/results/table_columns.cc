#include "attention_plasticity/results/table_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

std::vector<std::string_view> names_of(const ResultColumn& column) {
  std::vector<std::string_view> names{column.name};
  for (const std::string_view other : {column.python_name, column.also_read_as}) {
    if (!other.empty() && other != column.name) names.push_back(other);
  }
  return names;
}

}  // namespace

std::optional<std::size_t> find_column(const CsvTable& table, const ResultColumn& column) {
  for (const std::string_view name : names_of(column)) {
    if (const auto place = table.find(name)) return place;
  }
  return std::nullopt;
}

std::size_t column_place(const CsvTable& table, TableId id, std::string_view column) {
  const ResultTable& schema = result_table(id);
  const ResultColumn* known = schema.find(column);
  if (known == nullptr) throw std::logic_error("the schema has no column " + std::string(column));
  if (const auto place = find_column(table, *known)) return *place;
  throw Error(
      ErrorKind::input,
      fmt::format("has no column {}; it should be the {} of a run", fmt::join(names_of(*known), " or "), schema.file),
      table.file);
}

std::optional<std::size_t> count_place(const CsvTable& table, TableId id, std::string_view column) {
  const ResultTable& schema = result_table(id);
  const ResultColumn* known = schema.find(column);
  const ResultColumn* count = known == nullptr ? nullptr : schema.find(known->counted_by);
  return count == nullptr ? std::nullopt : find_column(table, *count);
}

}  // namespace attention_plasticity

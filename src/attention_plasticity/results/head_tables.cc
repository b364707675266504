#include "attention_plasticity/results/head_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>

#include "attention_plasticity/base/nearest_name.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

constexpr std::array<std::string_view, 3> id_columns{"layer", "q_head", "k_head"};

std::vector<const ResultColumn*> columns_of(TableId table, const WrittenColumns& run) {
  std::vector<const ResultColumn*> columns;
  for (const ResultColumn& column : result_table(table).columns) {
    if (is_written(column, run)) columns.push_back(&column);
  }
  return columns;
}

template <class Visit>
void for_each_row(TableId id, std::span<const HeadResult> results, std::span<const WithoutGroup> without_group,
                  const Visit& visit) {
  const ResultTable& table = result_table(id);
  const WithoutGroup no_groups;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const HeadValues head{results[i], without_group.empty() ? no_groups : without_group[i]};
    const std::size_t rows = table.rows(head);
    for (std::size_t row = 0; row < rows; ++row) visit(head, row);
  }
}

ColumnValues no_values(ColumnType type) {
  if (type == ColumnType::integer) return std::vector<std::int64_t>();
  return std::vector<double>();
}

void add_value(ColumnValues& values, const CsvValue& value) {
  std::visit(
      [&](auto& list) {
        using Item = typename std::remove_reference_t<decltype(list)>::value_type;
        list.push_back(std::visit([](auto number) { return static_cast<Item>(number); }, value));
      },
      values);
}

std::vector<std::string_view> names_of(const ResultColumn& column) {
  std::vector<std::string_view> names{column.name};
  for (const std::string_view other : {column.python_name, column.also_read_as}) {
    if (!other.empty() && other != column.name) names.push_back(other);
  }
  return names;
}

std::size_t id_column(const CsvTable& table, std::string_view name) {
  if (const auto column = table.find(name)) return *column;
  throw Error(
      ErrorKind::input,
      fmt::format("has no column {}; metrics are what `attention-plasticity analyze` writes to head_metrics.csv", name),
      table.file);
}

}  // namespace

void write_table(TableId table, std::span<const HeadResult> results, const WrittenColumns& run,
                 std::span<const WithoutGroup> without_group, const Sink& sink) {
  const std::vector<const ResultColumn*> columns = columns_of(table, run);
  std::vector<std::string_view> names;
  names.reserve(columns.size());
  for (const ResultColumn* column : columns) names.push_back(written_name(*column, run));
  CsvText text(names, sink);
  for_each_row(table, results, without_group, [&](const HeadValues& head, std::size_t row) {
    for (const ResultColumn* column : columns) text.add(column->value(head, row));
    text.end_row();
  });
  text.finish();
}

std::string table_text(TableId table, std::span<const HeadResult> results, const WrittenColumns& run,
                       std::span<const WithoutGroup> without_group) {
  std::string text;
  write_table(table, results, run, without_group, [&](std::string_view piece) { text += piece; });
  return text;
}

Table table_of(TableId id, std::span<const HeadResult> results, const WrittenColumns& run,
               std::span<const WithoutGroup> without_group) {
  Table table{.id = id};
  if (!is_written(result_table(id), run)) return table;
  const std::vector<const ResultColumn*> columns = columns_of(id, run);
  for (const ResultColumn* column : columns) {
    table.columns.push_back({std::string(written_name(*column, run)), no_values(column->type)});
  }
  for_each_row(id, results, without_group, [&](const HeadValues& head, std::size_t row) {
    for (std::size_t i = 0; i < columns.size(); ++i) add_value(table.columns[i].values, columns[i]->value(head, row));
    ++table.rows;
  });
  return table;
}

const ResultColumn& metrics_column(std::string_view name) {
  if (const ResultColumn* column = result_table(TableId::metrics).find(name)) return *column;
  throw Error(ErrorKind::usage, fmt::format("head_metrics.csv has no column {}", name));
}

double metric_value(const HeadResult& head, const ResultColumn& column) {
  return std::visit([](auto number) { return static_cast<double>(number); }, column.value({head, {}}, 0));
}

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

HeadMetrics::HeadMetrics(CsvTable table) : table_(std::move(table)) {
  const std::size_t layer = id_column(table_, "layer");
  const std::size_t q_head = id_column(table_, "q_head");
  const std::size_t k_head = id_column(table_, "k_head");
  if (table_.rows.empty()) throw Error(ErrorKind::input, "has a header and no heads", table_.file);
  std::vector<HeadId> unsorted;
  unsorted.reserve(table_.rows.size());
  for (std::size_t row = 0; row < table_.rows.size(); ++row) {
    unsorted.push_back({table_.index(row, layer), table_.index(row, q_head), table_.index(row, k_head)});
  }
  rows_.resize(unsorted.size());
  std::iota(rows_.begin(), rows_.end(), std::size_t{0});
  const auto place = [&](std::size_t row) { return std::pair(unsorted[row].layer, unsorted[row].q_head); };
  std::ranges::stable_sort(rows_, {}, place);
  const auto twin = std::ranges::adjacent_find(rows_, {}, place);
  if (twin != rows_.end()) {
    throw Error(ErrorKind::input,
                fmt::format("lines {} and {}: layer {}, q_head {} has two rows", table_.lines[*twin],
                            table_.lines[*(twin + 1)], unsorted[*twin].layer, unsorted[*twin].q_head),
                table_.file);
  }
  for (const std::size_t row : rows_) heads_.push_back(unsorted[row]);
}

std::vector<std::string_view> HeadMetrics::measures() const {
  std::vector<std::string_view> names;
  for (const std::string& column : table_.columns) {
    if (!column.empty() && std::ranges::find(id_columns, column) == id_columns.end()) names.emplace_back(column);
  }
  return names;
}

bool HeadMetrics::has(std::string_view measure) const {
  const std::vector<std::string_view> names = measures();
  return std::ranges::find(names, measure) != names.end();
}

std::vector<double> HeadMetrics::values(std::string_view measure) const {
  const auto column = table_.find(measure);
  if (!column || !has(measure)) {
    const auto nearest = nearest_name(measure, measures());
    throw Error(ErrorKind::usage, fmt::format("{} has no column {}{}", table_.file, quoted_text(measure),
                                              nearest ? fmt::format("; did you mean {}?", *nearest) : ""));
  }
  std::vector<double> values(rows_.size());
  std::ranges::transform(rows_, values.begin(), [&](std::size_t row) { return table_.number(row, *column); });
  return values;
}

HeadMetrics read_head_metrics(const ResultFiles& files) { return HeadMetrics(files.read(TableId::metrics)); }

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

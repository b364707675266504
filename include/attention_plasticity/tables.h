#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "attention_plasticity/export.h"

/// @file
/// The tables of a run: what they hold, and their values. docs/formats.md describes every column.

namespace attention_plasticity {

/// The tables of a run, in the order in which they are written and listed.
enum class TableId { metrics, buckets, components, time, distance, groups };
/// The number of tables.
inline constexpr std::size_t table_count = 6;

/// The type of a column's values.
enum class ColumnType { integer, number };

/// What a column holds.
struct ColumnInfo {
  std::string_view name;      ///< as written
  ColumnType type;            ///< of its values
  std::string_view meaning;   ///< one line
  double low;                 ///< least possible value; -infinity: no bound
  double high;                ///< largest possible value; infinity: no bound
  bool is_key;                ///< one of the columns that identify a row
  std::string_view error_of;  ///< the column whose standard error it is; empty: none
};

/// What a table holds.
struct TableInfo {
  TableId id;                       ///< which
  std::string_view name;            ///< short: "buckets"
  std::string_view file;            ///< usual name: "head_bucket_plasticity.csv"
  std::string_view meaning;         ///< one line: what a row is
  std::vector<ColumnInfo> columns;  ///< all that there may be; a run writes those that it measured
};

/// The one schema of all tables, in the order of TableId. Throws std::bad_alloc only. Thread-safe.
AP_API std::vector<TableInfo> table_infos();

/// The values of a column, one for each row: whole numbers, or numbers where NaN stands for a value that does not
/// exist.
using ColumnValues = std::variant<std::vector<std::int64_t>, std::vector<double>>;

/// A column of a table.
struct TableColumn {
  std::string name = {};     ///< as written
  ColumnValues values = {};  ///< one for each row
};

/// A table of a run. All columns have `rows` values.
struct Table {
  TableId id = TableId::metrics;          ///< which
  std::size_t rows = 0;                   ///< of each column
  std::vector<TableColumn> columns = {};  ///< in the order of the schema

  /// The column of this name; null when the table does not have it. Throws nothing. Thread-safe.
  AP_API const TableColumn* find(std::string_view name) const;
  /// The values of a column as doubles. Throws Error(usage) when the table does not have it. Thread-safe.
  AP_API std::vector<double> numbers(std::string_view name) const;
};

/// Reads a table of a finished run from its folder. Throws Error(input) when the folder has no such table or it cannot
/// be read, or when run.json says that it is of another run. Thread-safe.
AP_API Table read_table(const std::filesystem::path& folder, TableId table);

}  // namespace attention_plasticity

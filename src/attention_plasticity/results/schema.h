#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "attention_plasticity/head_result.h"
#include "attention_plasticity/results/csv.h"
#include "attention_plasticity/stats/jackknife.h"
#include "attention_plasticity/tables.h"

// The one schema of what a run writes: its tables, their columns, what each column means and its value for a head.
// Everything that writes, reads, summarises, draws or documents a table goes by it. A new column is one entry in
// schema.cc; a test compares docs/formats.md with the schema.

namespace attention_plasticity {

/// The condition on which a column or table is written.
enum class Needs {
  nothing,
  errors,            ///< `standard_errors: true`
  exact,             ///< a known rotation, so that position-exact plasticity was measured
  exact_and_errors,  ///< both
};

/// The facts about a run that decide which tables and columns it writes.
struct WrittenColumns {
  bool errors = false;         ///< standard errors
  bool exact = false;          ///< position-exact plasticity
  bool python_compat = false;  ///< `compat: python`: only the columns of the Python toolkit
};

/// The range of possible values, including both ends.
struct ValueRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

/// The group in which the page lists a column of head_metrics.csv.
enum class Topic { plasticity, queries, other };

/// A head, as the columns take their values from it.
struct HeadValues {
  const HeadResult& result;
  const WithoutGroup& without_group;
};

struct ResultColumn {
  std::string_view name;
  /// The value in a row of the table; rows are counted from 0 within each head.
  CsvValue (*value)(const HeadValues& head, std::size_t row);
  ColumnType type = ColumnType::number;
  std::string_view meaning;  ///< one line
  ValueRange range = {};
  Needs needs = Needs::nothing;
  std::string_view python_name = {};   ///< name in tables of the Python toolkit; empty: it has no such column
  std::string_view also_read_as = {};  ///< a further name in tables of other programs; empty: none
  bool is_key = false;                 ///< one of the columns that identify a row
  bool is_needed = true;               ///< a table without it cannot be read
  bool in_page = true;                 ///< the report carries it
  std::string_view title = {};         ///< shown to people; empty: the name is shown
  std::string_view error_of = {};      ///< the column whose standard error it is; empty: none
  std::string_view counted_by = {};    ///< the column with the number of samples behind a value; empty: none
  std::string_view counts = {};        ///< what the column counts, in the plural: "triples"; empty: it is no count

  // For head_metrics.csv.
  Topic topic = Topic::other;
  std::optional<ValueRange> colors = {};  ///< fixed ends of the colour scale; none: least and largest value
  bool in_summary = false;                ///< summarised after a run
  bool in_validation = false;             ///< compared with labels unless the user names columns
  bool in_facts = false;                  ///< shown beside a chosen head
  bool in_list = false;                   ///< a column of the page's list of heads
};

struct ResultTable {
  TableId id;
  std::string_view name;     ///< short: "buckets"
  std::string_view file;     ///< usual name: "head_bucket_plasticity.csv"
  std::string_view field;    ///< the configuration field with its path: "bucket_csv"
  std::string_view meaning;  ///< one line: what a row is
  Needs needs;
  bool in_python_compat;                        ///< the Python toolkit writes it too
  bool in_page;                                 ///< the report carries it
  std::size_t (*rows)(const HeadValues& head);  ///< number of rows of a head
  std::span<const ResultColumn> columns;

  /// Null for a name that the schema does not know.
  const ResultColumn* find(std::string_view column) const;
};

std::span<const ResultTable> result_tables();
const ResultTable& result_table(TableId id);

/// Paths of a run's tables. A path is empty where `compat: python` does not write the table.
class TablePaths {
 public:
  /// Sets the usual names.
  TablePaths() {
    for (const ResultTable& table : result_tables()) (*this)[table.id] = table.file;
  }
  std::string& operator[](TableId table) { return paths_[static_cast<std::size_t>(table)]; }
  const std::string& operator[](TableId table) const { return paths_[static_cast<std::size_t>(table)]; }
  bool operator==(const TablePaths&) const = default;

 private:
  std::array<std::string, table_count> paths_;
};

/// Returns true for a position-exact column, which takes a known rotation. All others pool positions.
bool is_exact(const ResultTable& table, const ResultColumn& column);

bool is_written(const ResultTable& table, const WrittenColumns& run);
bool is_written(const ResultColumn& column, const WrittenColumns& run);

/// Returns true for layer, q_head and k_head. Every table begins with these.
bool is_head_id(const ResultColumn& column);

/// The name of the column in a table of this run.
std::string_view written_name(const ResultColumn& column, const WrittenColumns& run);

/// The columns of head_metrics.csv whose mean describes a whole model, the preferred one first: ap_exact, ap_overall.
std::span<const std::string_view> headline_measures();
bool is_headline(std::string_view column);

}  // namespace attention_plasticity

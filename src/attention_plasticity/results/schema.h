#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

// The one schema of what a run writes. Whoever writes, reads, summarises, draws or documents a table asks here which
// columns there are and what they mean. A new column takes one entry in schema.cc and its value in
// run/result_tables.cc; a test holds docs/formats.md to both.

namespace attention_plasticity {

/// The tables of a run, in the order in which they are written and listed.
enum class TableId { metrics, buckets, components, time, distance, groups };
inline constexpr std::size_t table_count = 6;

enum class ColumnType { integer, number };

/// What a column or table needs in order to be written.
enum class Needs {
  nothing,
  errors,            ///< `standard_errors: true`
  exact,             ///< a known rotation, so that position-exact plasticity was measured
  exact_and_errors,  ///< both
};

/// What a run measured, as far as it decides on tables and columns.
struct RunParts {
  bool errors = false;         ///< standard errors
  bool exact = false;          ///< position-exact plasticity
  bool python_compat = false;  ///< `compat: python`: the columns of the Python toolkit and no others
};

/// Possible values, ends included.
struct ValueRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

/// What the page sorts columns of head_metrics.csv by.
enum class Topic { plasticity, queries, other };

struct ResultColumn {
  std::string_view name;
  ColumnType type = ColumnType::number;
  std::string_view meaning;  ///< one line
  ValueRange range = {};
  Needs needs = Needs::nothing;
  std::string_view python_name = {};   ///< in tables of the Python toolkit; empty: it has no such column
  std::string_view also_read_as = {};  ///< a further name in tables of other programs; empty: none
  bool is_key = false;                 ///< one of the columns that name a row
  bool is_needed = true;               ///< a table without it cannot be read
  bool in_page = true;                 ///< the report carries it
  std::string_view title = {};         ///< for people; empty: the name does
  std::string_view error_of = {};      ///< the column whose standard error it is; empty: none

  // For head_metrics.csv.
  Topic topic = Topic::other;
  std::optional<ValueRange> colors = {};   ///< fixed ends of a colour scale; none: those of the values
  bool in_summary = false;                 ///< summarised after a run
  bool in_validation = false;              ///< compared with labels unless the user names columns
  bool in_facts = false;                   ///< shown beside a chosen head
  bool in_list = false;                    ///< a column of the page's list of heads
};

struct ResultTable {
  TableId id;
  std::string_view name;     ///< short: "buckets"
  std::string_view file;     ///< usual name: "head_bucket_plasticity.csv"
  std::string_view field;    ///< of the configuration, which gives it another path: "bucket_csv"
  std::string_view meaning;  ///< one line: what a row is
  Needs needs;
  bool in_python_compat;  ///< the Python toolkit writes it too
  bool in_page;           ///< the report carries it
  std::span<const ResultColumn> columns;

  /// Null for a name that the schema does not know.
  const ResultColumn* find(std::string_view column) const;
};

std::span<const ResultTable> result_tables();
const ResultTable& result_table(TableId id);

bool is_written(const ResultTable& table, const RunParts& run);
bool is_written(const ResultColumn& column, const RunParts& run);

/// Whether it is layer, q_head or k_head, which every table begins with.
bool is_head_id(const ResultColumn& column);

/// What the column is called in a table of this run.
std::string_view written_name(const ResultColumn& column, const RunParts& run);

/// The columns of head_metrics.csv that stand for a whole model, the one to go by first: ap_exact, then ap_overall.
std::span<const std::string_view> headline_measures();
bool is_headline(std::string_view column);

}  // namespace attention_plasticity

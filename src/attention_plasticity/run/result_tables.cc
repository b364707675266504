#include "attention_plasticity/run/result_tables.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <variant>
#include <vector>

#include "attention_plasticity/results/csv_text.h"

namespace attention_plasticity {
namespace {

// A head, as the values of columns see it.
struct HeadValues {
  const HeadResult& result;
  const WithoutGroup& without_group;
};

using Head = const HeadValues&;
using Row = std::size_t;  // of a head in a table, from 0
using Value = CsvValue;

struct ColumnValue {
  std::string_view column;
  Value (*value)(Head head, Row row);
};

double exact_figure(Head head, double ExactPlasticity::* figure) {
  return head.result.exact ? *head.result.exact.*figure : std::numeric_limits<double>::quiet_NaN();
}

// The columns that every table begins with.
constexpr std::array id_values{
    ColumnValue{"layer", [](Head head, Row) -> Value { return head.result.head.layer; }},
    ColumnValue{"q_head", [](Head head, Row) -> Value { return head.result.head.q_head; }},
    ColumnValue{"k_head", [](Head head, Row) -> Value { return head.result.head.k_head; }},
};

constexpr std::array metrics_values{
    ColumnValue{"n_q_tokens", [](Head head, Row) -> Value { return head.result.n_q_tokens; }},
    ColumnValue{"n_k_tokens", [](Head head, Row) -> Value { return head.result.n_k_tokens; }},
    ColumnValue{"d_model", [](Head head, Row) -> Value { return head.result.width; }},
    ColumnValue{"q_R2_pos", [](Head head, Row) -> Value { return head.result.position_r_squared; }},
    ColumnValue{"q_beta_norm", [](Head head, Row) -> Value { return head.result.slope_norm; }},
    ColumnValue{"q_R2_scalar", [](Head head, Row) -> Value { return head.result.scalar.r_squared; }},
    ColumnValue{"q_mae_baseline", [](Head head, Row) -> Value { return head.result.scalar.mae_baseline; }},
    ColumnValue{"q_mae_proj", [](Head head, Row) -> Value { return head.result.scalar.mae_projection; }},
    ColumnValue{"q_mae_ratio", [](Head head, Row) -> Value { return head.result.scalar.mae_ratio; }},
    ColumnValue{"q_resid0_skew", [](Head head, Row) -> Value { return head.result.residual.skewness; }},
    ColumnValue{"q_resid0_kurt", [](Head head, Row) -> Value { return head.result.residual.excess_kurtosis; }},
    ColumnValue{"q_resid0_ks_p", [](Head head, Row) -> Value { return head.result.residual.ks_p; }},
    ColumnValue{"q_noise_med_abs_skew", [](Head head, Row) -> Value { return head.result.noise.median_abs_skewness; }},
    ColumnValue{"q_noise_med_abs_kurt",
                [](Head head, Row) -> Value { return head.result.noise.median_abs_excess_kurtosis; }},
    ColumnValue{"q_noise_med_ks_p", [](Head head, Row) -> Value { return head.result.noise.median_ks_p; }},
    ColumnValue{"q_noise_frac_ks_p_lt_alpha",
                [](Head head, Row) -> Value { return head.result.noise.share_below_alpha; }},
    ColumnValue{"ap_overall", [](Head head, Row) -> Value { return head.result.plasticity.overall; }},
    ColumnValue{"ap_overall_se", [](Head head, Row) -> Value { return head.result.plasticity_error; }},
    ColumnValue{"ap_exact", [](Head head, Row) -> Value { return exact_figure(head, &ExactPlasticity::overall); }},
    ColumnValue{"ap_exact_se", [](Head head, Row) -> Value { return head.result.exact_error; }},
    ColumnValue{"ap_exact_empirical",
                [](Head head, Row) -> Value { return exact_figure(head, &ExactPlasticity::empirical); }},
    ColumnValue{"logit_fixed",
                [](Head head, Row) -> Value { return exact_figure(head, &ExactPlasticity::logit_fixed); }},
    ColumnValue{"logit_spread",
                [](Head head, Row) -> Value { return exact_figure(head, &ExactPlasticity::logit_spread); }},
    ColumnValue{"n_triples",
                [](Head head, Row) -> Value { return head.result.exact ? head.result.exact->n_triples : 0; }},
};

constexpr std::array buckets_values{
    ColumnValue{"q_bucket", [](Head head, Row row) -> Value { return head.result.plasticity.cells[row].query_bucket; }},
    ColumnValue{"k_bucket", [](Head head, Row row) -> Value { return head.result.plasticity.cells[row].key_bucket; }},
    ColumnValue{"plasticity", [](Head head, Row row) -> Value { return head.result.plasticity.cells[row].plasticity; }},
    ColumnValue{"n_pairs", [](Head head, Row row) -> Value { return head.result.plasticity.cells[row].n_pairs; }},
};

constexpr std::array components_values{
    ColumnValue{"component", [](Head, Row row) -> Value { return row; }},
    ColumnValue{"r2", [](Head head, Row row) -> Value { return head.result.component_r_squared[row]; }},
    ColumnValue{"weight", [](Head head, Row row) -> Value { return head.result.component_weight[row]; }},
};

constexpr std::array time_values{
    ColumnValue{"q_bucket", [](Head head, Row row) -> Value { return head.result.times[row].query_bucket; }},
    ColumnValue{"position", [](Head head, Row row) -> Value { return head.result.times[row].position; }},
    ColumnValue{"plasticity", [](Head head, Row row) -> Value { return head.result.times[row].plasticity; }},
    ColumnValue{"n_pairs", [](Head head, Row row) -> Value { return head.result.times[row].n_pairs; }},
    ColumnValue{"n_queries", [](Head head, Row row) -> Value { return head.result.times[row].n_queries; }},
    ColumnValue{"ap_exact", [](Head head, Row row) -> Value { return head.result.times[row].exact; }},
    ColumnValue{"ap_exact_se", [](Head head, Row row) -> Value { return head.result.times[row].exact_error; }},
    ColumnValue{"n_triples", [](Head head, Row row) -> Value { return head.result.times[row].n_triples; }},
};

constexpr std::array distance_values{
    ColumnValue{"near_bin", [](Head head, Row row) -> Value { return head.result.exact->distances[row].near_bin; }},
    ColumnValue{"far_bin", [](Head head, Row row) -> Value { return head.result.exact->distances[row].far_bin; }},
    ColumnValue{"plasticity", [](Head head, Row row) -> Value { return head.result.exact->distances[row].plasticity; }},
    ColumnValue{"logit_fixed",
                [](Head head, Row row) -> Value { return head.result.exact->distances[row].logit_fixed; }},
    ColumnValue{"logit_spread",
                [](Head head, Row row) -> Value { return head.result.exact->distances[row].logit_spread; }},
    ColumnValue{"n_triples", [](Head head, Row row) -> Value { return head.result.exact->distances[row].n_triples; }},
};

constexpr std::array groups_values{
    ColumnValue{"group", [](Head head, Row row) -> Value { return head.without_group.groups[row]; }},
    ColumnValue{"ap_overall", [](Head head, Row row) -> Value { return head.without_group.overall[row]; }},
    ColumnValue{"ap_exact",
                [](Head head, Row row) -> Value {
                  return head.result.exact ? head.without_group.exact[row] : std::numeric_limits<double>::quiet_NaN();
                }},
};

// A table's rows of one head, and what stands in them.
struct TableValues {
  std::size_t (*rows)(Head head);
  std::span<const ColumnValue> values;
};

// In the order of TableId.
constexpr std::array<TableValues, table_count> values_of_tables{{
    {[](Head) -> std::size_t { return 1; }, metrics_values},
    {[](Head head) { return head.result.plasticity.cells.size(); }, buckets_values},
    {[](Head head) { return head.result.component_r_squared.size(); }, components_values},
    {[](Head head) { return head.result.times.size(); }, time_values},
    {[](Head head) { return head.result.exact ? head.result.exact->distances.size() : 0; }, distance_values},
    {[](Head head) { return head.without_group.overall.size(); }, groups_values},
}};

const TableValues& values_of(TableId table) { return values_of_tables[static_cast<std::size_t>(table)]; }

const ColumnValue& value_named(std::string_view column, TableId table) {
  for (const std::span<const ColumnValue> values : {std::span<const ColumnValue>(id_values), values_of(table).values}) {
    const auto found = std::ranges::find(values, column, &ColumnValue::column);
    if (found != values.end()) return *found;
  }
  throw std::logic_error("a column of the schema has no value: " + std::string(column));
}

struct WrittenColumn {
  std::string_view name;
  ColumnType type;
  Value (*value)(Head head, Row row);
};

std::vector<WrittenColumn> written_columns(TableId table, const RunParts& run) {
  std::vector<WrittenColumn> columns;
  for (const ResultColumn& column : result_table(table).columns) {
    if (!is_written(column, run)) continue;
    columns.push_back({written_name(column, run), column.type, value_named(column.name, table).value});
  }
  return columns;
}

template <class Visit>
void for_each_row(TableId table, std::span<const HeadResult> results, std::span<const WithoutGroup> without_group,
                  const Visit& visit) {
  const WithoutGroup no_groups;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const HeadValues head{results[i], without_group.empty() ? no_groups : without_group[i]};
    const std::size_t rows = values_of(table).rows(head);
    for (std::size_t row = 0; row < rows; ++row) visit(head, row);
  }
}

ColumnValues no_values(ColumnType type) {
  if (type == ColumnType::integer) return std::vector<std::int64_t>();
  return std::vector<double>();
}

void add_value(ColumnValues& values, const Value& value) {
  std::visit(
      [&](auto& list) {
        using Item = typename std::remove_reference_t<decltype(list)>::value_type;
        list.push_back(std::visit([](auto number) { return static_cast<Item>(number); }, value));
      },
      values);
}

}  // namespace

RunParts run_parts(std::span<const HeadResult> results, const RunConfig& config) {
  return {.errors = config.analysis.standard_errors,
          .exact = std::ranges::any_of(results, [](const HeadResult& head) { return head.exact.has_value(); }),
          .python_compat = config.compat == Compat::python};
}

void write_table(TableId table, std::span<const HeadResult> results, const RunParts& run,
                 std::span<const WithoutGroup> without_group, const Sink& sink) {
  std::vector<std::string_view> names;
  const std::vector<WrittenColumn> columns = written_columns(table, run);
  names.reserve(columns.size());
  for (const WrittenColumn& column : columns) names.push_back(column.name);
  CsvText text(names, sink);
  for_each_row(table, results, without_group, [&](Head head, Row row) {
    for (const WrittenColumn& column : columns) text.add(column.value(head, row));
    text.end_row();
  });
  text.finish();
}

std::string table_text(TableId table, std::span<const HeadResult> results, const RunParts& run,
                       std::span<const WithoutGroup> without_group) {
  std::string text;
  write_table(table, results, run, without_group, [&](std::string_view piece) { text += piece; });
  return text;
}

Table table_of(TableId id, std::span<const HeadResult> results, const RunParts& run,
               std::span<const WithoutGroup> without_group) {
  Table table{.id = id};
  if (!is_written(result_table(id), run)) return table;
  const std::vector<WrittenColumn> columns = written_columns(id, run);
  for (const WrittenColumn& column : columns)
    table.columns.push_back({std::string(column.name), no_values(column.type)});
  for_each_row(id, results, without_group, [&](Head head, Row row) {
    for (std::size_t i = 0; i < columns.size(); ++i) add_value(table.columns[i].values, columns[i].value(head, row));
    ++table.rows;
  });
  return table;
}

double metric_value(const HeadResult& head, std::string_view column) {
  return std::visit([](auto number) { return static_cast<double>(number); },
                    value_named(column, TableId::metrics).value({head, {}}, 0));
}

}  // namespace attention_plasticity

#include "attention_plasticity/results/schema.h"

#include <algorithm>

namespace attention_plasticity {
namespace {

using enum ColumnType;
using enum Topic;

constexpr double unbounded = std::numeric_limits<double>::infinity();
constexpr ValueRange from_zero{0, unbounded};
constexpr ValueRange from_one{1, unbounded};
constexpr ValueRange zero_to_one{0, 1};

using Head = const HeadValues&;
using Row = std::size_t;
using Value = CsvValue;
using ValueOf = Value (*)(Head head, Row row);

constexpr ResultColumn key(std::string_view name, ValueOf value, std::string_view meaning) {
  return {.name = name,
          .value = value,
          .type = integer,
          .meaning = meaning,
          .range = from_zero,
          .python_name = name,
          .is_key = true};
}

constexpr ResultColumn layer =
    key("layer", [](Head head, Row) -> Value { return head.result.head.layer; }, "Layer of the head, from 0");
constexpr ResultColumn q_head =
    key("q_head", [](Head head, Row) -> Value { return head.result.head.q_head; }, "Query head, from 0");
constexpr ResultColumn k_head = key(
    "k_head", [](Head head, Row) -> Value { return head.result.head.k_head; },
    "Key head that the query head reads, from 0");

constexpr ResultColumn count(std::string_view name, ValueOf value, std::string_view meaning, std::string_view counts) {
  return {.name = name,
          .value = value,
          .type = integer,
          .meaning = meaning,
          .range = from_zero,
          .is_needed = false,
          .counts = counts};
}

constexpr ResultColumn statistic(std::string_view name, ValueOf value, std::string_view meaning, ValueRange range = {},
                                 bool in_summary = false) {
  return {.name = name,
          .value = value,
          .meaning = meaning,
          .range = range,
          .python_name = name,
          .counted_by = "n_q_tokens",
          .topic = queries,
          .in_summary = in_summary};
}

// A statistic in [0, 1] that maps show on that whole scale.
constexpr ResultColumn share(std::string_view name, ValueOf value, std::string_view meaning, bool in_summary = false) {
  ResultColumn column = statistic(name, value, meaning, zero_to_one, in_summary);
  column.colors = zero_to_one;
  return column;
}

double exact_figure(Head head, double ExactPlasticity::* figure) {
  return head.result.exact ? *head.result.exact.*figure : std::numeric_limits<double>::quiet_NaN();
}

constexpr std::array metrics_columns{
    layer,
    q_head,
    k_head,
    ResultColumn{.name = "n_q_tokens",
                 .value = [](Head head, Row) -> Value { return head.result.n_q_tokens; },
                 .type = integer,
                 .meaning = "Queries used",
                 .range = from_one,
                 .python_name = "n_q_tokens",
                 .counts = "queries"},
    ResultColumn{.name = "n_k_tokens",
                 .value = [](Head head, Row) -> Value { return head.result.n_k_tokens; },
                 .type = integer,
                 .meaning = "Keys used",
                 .range = from_one,
                 .python_name = "n_k_tokens"},
    ResultColumn{.name = "d_model",
                 .value = [](Head head, Row) -> Value { return head.result.width; },
                 .type = integer,
                 .meaning = "Components of a query or key",
                 .range = from_one,
                 .python_name = "d_model"},
    statistic(
        "q_R2_pos", [](Head head, Row) -> Value { return head.result.position_r_squared; },
        "Share of the queries' variance that follows position on a line, mean over components", zero_to_one, true),
    statistic(
        "q_beta_norm", [](Head head, Row) -> Value { return head.result.slope_norm; },
        "Length of the queries' slope on position", from_zero),
    ResultColumn{.name = "q_R2_scalar",
                 .value = [](Head head, Row) -> Value { return head.result.scalar.r_squared; },
                 .meaning = "How well one projection of a query tells its position: R² on log2(position + 1)",
                 .range = zero_to_one,
                 .python_name = "q_R2_scalar",
                 .counted_by = "n_q_tokens",
                 .topic = queries,
                 .in_summary = true,
                 .in_list = true},
    statistic(
        "q_mae_baseline", [](Head head, Row) -> Value { return head.result.scalar.mae_baseline; },
        "Mean absolute error of log2(position + 1) when its mean is the guess", from_zero),
    statistic(
        "q_mae_proj", [](Head head, Row) -> Value { return head.result.scalar.mae_projection; },
        "Mean absolute error of log2(position + 1) when the projection is the guess", from_zero),
    statistic(
        "q_mae_ratio", [](Head head, Row) -> Value { return head.result.scalar.mae_ratio; },
        "q_mae_proj / q_mae_baseline; 1 when the projection tells nothing", from_zero, true),
    statistic(
        "q_resid0_skew", [](Head head, Row) -> Value { return head.result.residual.skewness; },
        "Skewness of the queries along their slope, position removed"),
    statistic(
        "q_resid0_kurt", [](Head head, Row) -> Value { return head.result.residual.excess_kurtosis; },
        "Excess kurtosis of the queries along their slope, position removed", {}, true),
    share(
        "q_resid0_ks_p", [](Head head, Row) -> Value { return head.result.residual.ks_p; },
        "Kolmogorov–Smirnov p of normality along the slope"),
    statistic(
        "q_noise_med_abs_skew", [](Head head, Row) -> Value { return head.result.noise.median_abs_skewness; },
        "Median absolute skewness of the other components", from_zero, true),
    statistic(
        "q_noise_med_abs_kurt", [](Head head, Row) -> Value { return head.result.noise.median_abs_excess_kurtosis; },
        "Median absolute excess kurtosis of the other components", from_zero, true),
    share(
        "q_noise_med_ks_p", [](Head head, Row) -> Value { return head.result.noise.median_ks_p; },
        "Median Kolmogorov–Smirnov p of the other components"),
    share(
        "q_noise_frac_ks_p_lt_alpha", [](Head head, Row) -> Value { return head.result.noise.share_below_alpha; },
        "Share of the other components that are not normal at p_alpha", true),
    ResultColumn{.name = "ap_overall",
                 .value = [](Head head, Row) -> Value { return head.result.plasticity.overall; },
                 .meaning = "Pooled plasticity, over buckets of positions; misleads on models with rotary embeddings",
                 .range = zero_to_one,
                 .python_name = "ap_overall",
                 .title = "Pooled plasticity",
                 .counted_by = "n_q_tokens",
                 .topic = plasticity,
                 .colors = zero_to_one,
                 .in_summary = true,
                 .in_validation = true,
                 .in_facts = true,
                 .in_list = true},
    ResultColumn{.name = "ap_overall_se",
                 .value = [](Head head, Row) -> Value { return head.result.plasticity_error; },
                 .meaning = "Standard error of ap_overall, over documents",
                 .range = from_zero,
                 .needs = Needs::errors,
                 .error_of = "ap_overall",
                 .counted_by = "n_q_tokens",
                 .topic = plasticity},
    ResultColumn{.name = "ap_exact",
                 .value = [](Head head, Row) -> Value { return exact_figure(head, &ExactPlasticity::overall); },
                 .meaning = "Position-exact plasticity: 0, the winner of two keys is fixed; 1, the query decides",
                 .range = zero_to_one,
                 .needs = Needs::exact,
                 .title = "Position-exact plasticity",
                 .counted_by = "n_triples",
                 .topic = plasticity,
                 .colors = zero_to_one,
                 .in_summary = true,
                 .in_validation = true,
                 .in_facts = true,
                 .in_list = true},
    ResultColumn{.name = "ap_exact_se",
                 .value = [](Head head, Row) -> Value { return head.result.exact_error; },
                 .meaning = "Standard error of ap_exact, over documents",
                 .range = from_zero,
                 .needs = Needs::exact_and_errors,
                 .error_of = "ap_exact",
                 .counted_by = "n_triples",
                 .topic = plasticity},
    ResultColumn{.name = "ap_exact_empirical",
                 .value = [](Head head, Row) -> Value { return exact_figure(head, &ExactPlasticity::empirical); },
                 .meaning = "Position-exact plasticity, counted over queries instead of modelled",
                 .range = from_zero,
                 .needs = Needs::exact,
                 .counted_by = "n_triples",
                 .topic = plasticity,
                 .colors = zero_to_one,
                 .in_facts = true},
    ResultColumn{.name = "logit_fixed",
                 .value = [](Head head, Row) -> Value { return exact_figure(head, &ExactPlasticity::logit_fixed); },
                 .meaning = "Part of the logit difference of two keys that is settled before the query comes",
                 .range = from_zero,
                 .needs = Needs::exact,
                 .counted_by = "n_triples",
                 .topic = plasticity,
                 .in_validation = true,
                 .in_facts = true,
                 .in_list = true},
    ResultColumn{.name = "logit_spread",
                 .value = [](Head head, Row) -> Value { return exact_figure(head, &ExactPlasticity::logit_spread); },
                 .meaning = "Part of the logit difference of two keys that the query adds",
                 .range = from_zero,
                 .needs = Needs::exact,
                 .counted_by = "n_triples",
                 .topic = plasticity,
                 .in_validation = true,
                 .in_facts = true,
                 .in_list = true},
    ResultColumn{.name = "n_triples",
                 .value = [](Head head, Row) -> Value { return head.result.exact ? head.result.exact->n_triples : 0; },
                 .type = integer,
                 .meaning = "Triples of a query and two keys behind ap_exact",
                 .range = from_zero,
                 .needs = Needs::exact,
                 .counts = "triples"},
};

constexpr ResultColumn q_bucket(ValueOf value) {
  ResultColumn column = key("q_bucket", value, "Bucket of the queries");
  column.also_read_as = "bucket";
  return column;
}

constexpr std::array buckets_columns{
    layer,
    q_head,
    k_head,
    q_bucket([](Head head, Row row) -> Value { return head.result.plasticity.cells[row].query_bucket; }),
    ResultColumn{.name = "k_bucket",
                 .value = [](Head head, Row row) -> Value { return head.result.plasticity.cells[row].key_bucket; },
                 .type = integer,
                 .meaning = "Bucket of the keys, below q_bucket",
                 .range = from_zero,
                 .python_name = "k_bucket",
                 .is_key = true,
                 .is_needed = false},
    ResultColumn{.name = "plasticity",
                 .value = [](Head head, Row row) -> Value { return head.result.plasticity.cells[row].plasticity; },
                 .meaning = "Mean over the cell's pairs of keys",
                 .range = zero_to_one,
                 .python_name = "ap_bucket",
                 .counted_by = "n_pairs"},
    count(
        "n_pairs", [](Head head, Row row) -> Value { return head.result.plasticity.cells[row].n_pairs; },
        "Pairs of keys in that mean", "pairs of keys"),
};

constexpr std::array components_columns{
    layer,
    q_head,
    k_head,
    key(
        "component", [](Head, Row row) -> Value { return row; }, "Component of the query, from 0"),
    ResultColumn{.name = "r2",
                 .value = [](Head head, Row row) -> Value { return head.result.component_r_squared[row]; },
                 .meaning = "R² of the component on position",
                 .range = zero_to_one,
                 .python_name = "component_r2",
                 .is_needed = false,
                 .in_page = false},
    ResultColumn{.name = "weight",
                 .value = [](Head head, Row row) -> Value { return head.result.component_weight[row]; },
                 .meaning = "Its share of the sum of all components' R²",
                 .range = zero_to_one,
                 .python_name = "component_weight"},
};

constexpr std::array time_columns{
    layer,
    q_head,
    k_head,
    q_bucket([](Head head, Row row) -> Value { return head.result.times[row].query_bucket; }),
    ResultColumn{.name = "position",
                 .value = [](Head head, Row row) -> Value { return head.result.times[row].position; },
                 .meaning = "Mean position of the bucket's queries, in tokens",
                 .range = from_zero,
                 .is_needed = false},
    ResultColumn{.name = "plasticity",
                 .value = [](Head head, Row row) -> Value { return head.result.times[row].plasticity; },
                 .meaning = "Pooled plasticity: mean over all pairs of the bucket's cells",
                 .range = zero_to_one,
                 .python_name = "ap_bucket",
                 .title = "Pooled",
                 .counted_by = "n_pairs"},
    count(
        "n_pairs", [](Head head, Row row) -> Value { return head.result.times[row].n_pairs; },
        "Pairs of keys in that mean", "pairs of keys"),
    ResultColumn{.name = "n_queries",
                 .value = [](Head head, Row row) -> Value { return head.result.times[row].n_queries; },
                 .type = integer,
                 .meaning = "Queries in the bucket",
                 .range = from_one,
                 .is_needed = false,
                 .in_page = false},
    ResultColumn{.name = "ap_exact",
                 .value = [](Head head, Row row) -> Value { return head.result.times[row].exact; },
                 .meaning = "Position-exact plasticity: mean over the triples whose query lies in the bucket",
                 .range = zero_to_one,
                 .needs = Needs::exact,
                 .is_needed = false,
                 .title = "Position-exact",
                 .counted_by = "n_triples"},
    ResultColumn{.name = "ap_exact_se",
                 .value = [](Head head, Row row) -> Value { return head.result.times[row].exact_error; },
                 .meaning = "Standard error of that mean, over documents",
                 .range = from_zero,
                 .needs = Needs::exact_and_errors,
                 .is_needed = false,
                 .error_of = "ap_exact",
                 .counted_by = "n_triples"},
    ResultColumn{.name = "n_triples",
                 .value = [](Head head, Row row) -> Value { return head.result.times[row].n_triples; },
                 .type = integer,
                 .meaning = "Triples in that mean",
                 .range = from_zero,
                 .needs = Needs::exact,
                 .is_needed = false,
                 .counts = "triples"},
};

constexpr std::array distance_columns{
    layer,
    q_head,
    k_head,
    key(
        "near_bin", [](Head head, Row row) -> Value { return head.result.exact->distances[row].near_bin; },
        "Bin of the nearer key; bin b holds distances of 2^b − 1 to 2^(b+1) − 2 tokens"),
    key(
        "far_bin", [](Head head, Row row) -> Value { return head.result.exact->distances[row].far_bin; },
        "Bin of the farther key"),
    ResultColumn{.name = "plasticity",
                 .value = [](Head head, Row row) -> Value { return head.result.exact->distances[row].plasticity; },
                 .meaning = "Position-exact plasticity, mean over the triples",
                 .range = zero_to_one,
                 .title = "Plasticity",
                 .counted_by = "n_triples",
                 .colors = zero_to_one},
    ResultColumn{.name = "logit_fixed",
                 .value = [](Head head, Row row) -> Value { return head.result.exact->distances[row].logit_fixed; },
                 .meaning = "Logit difference settled before the query comes, mean over the triples",
                 .range = from_zero,
                 .is_needed = false,
                 .title = "Fixed logit",
                 .counted_by = "n_triples"},
    ResultColumn{.name = "logit_spread",
                 .value = [](Head head, Row row) -> Value { return head.result.exact->distances[row].logit_spread; },
                 .meaning = "Logit difference that the query adds, mean over the triples",
                 .range = from_zero,
                 .is_needed = false,
                 .title = "Logit spread",
                 .counted_by = "n_triples"},
    count(
        "n_triples", [](Head head, Row row) -> Value { return head.result.exact->distances[row].n_triples; },
        "Triples in these means", "triples"),
};

constexpr std::array groups_columns{
    layer,
    q_head,
    k_head,
    key(
        "group", [](Head head, Row row) -> Value { return head.without_group.groups[row]; },
        "Group of documents that is left out, from 0"),
    ResultColumn{.name = "ap_overall",
                 .value = [](Head head, Row row) -> Value { return head.without_group.overall[row]; },
                 .meaning = "Pooled plasticity without the group",
                 .range = zero_to_one,
                 .in_page = false},
    ResultColumn{.name = "ap_exact",
                 .value = [](Head head, Row row) -> Value {
                   return head.result.exact ? head.without_group.exact[row] : std::numeric_limits<double>::quiet_NaN();
                 },
                 .meaning = "Position-exact plasticity without the group",
                 .range = zero_to_one,
                 .needs = Needs::exact,
                 .is_needed = false},
};

constexpr std::array<ResultTable, table_count> tables{{
    {TableId::metrics, "metrics", "head_metrics.csv", "output_csv", "One row per head", Needs::nothing, true, true,
     [](Head) -> std::size_t { return 1; }, metrics_columns},
    {TableId::buckets, "buckets", "head_bucket_plasticity.csv", "bucket_csv",
     "One row per head, query bucket and key bucket", Needs::nothing, true, true,
     [](Head head) { return head.result.plasticity.cells.size(); }, buckets_columns},
    {TableId::components, "components", "head_component_weights.csv", "component_csv", "One row per head and component",
     Needs::nothing, true, true, [](Head head) { return head.result.component_r_squared.size(); }, components_columns},
    {TableId::time, "time", "head_time_plasticity.csv", "time_csv", "One row per head and query bucket", Needs::nothing,
     false, true, [](Head head) { return head.result.times.size(); }, time_columns},
    {TableId::distance, "distance", "head_distance_plasticity.csv", "distance_csv",
     "One row per head and pair of key distances", Needs::exact, false, true,
     [](Head head) { return head.result.exact ? head.result.exact->distances.size() : 0; }, distance_columns},
    {TableId::groups, "groups", "head_groups.csv", "groups_csv", "One row per head and group of examples left out",
     Needs::errors, false, true, [](Head head) { return head.without_group.overall.size(); }, groups_columns},
}};

static_assert(std::ranges::all_of(tables, [](const ResultTable& table) {
  return std::ranges::none_of(table.columns, [](const ResultColumn& column) { return column.value == nullptr; });
}));

constexpr std::array<std::string_view, 2> headlines{"ap_exact", "ap_overall"};

bool is_met(Needs needs, const WrittenColumns& run) {
  switch (needs) {
    case Needs::nothing:
      return true;
    case Needs::errors:
      return run.errors;
    case Needs::exact:
      return run.exact;
    case Needs::exact_and_errors:
      return run.errors && run.exact;
  }
  return false;
}

}  // namespace

const ResultColumn* ResultTable::find(std::string_view column) const {
  const auto found = std::ranges::find(columns, column, &ResultColumn::name);
  return found == columns.end() ? nullptr : &*found;
}

std::span<const ResultTable> result_tables() { return tables; }

const ResultTable& result_table(TableId id) { return tables[static_cast<std::size_t>(id)]; }

bool is_exact(const ResultTable& table, const ResultColumn& column) {
  const auto needs_rotation = [](Needs needs) { return needs == Needs::exact || needs == Needs::exact_and_errors; };
  return needs_rotation(table.needs) || needs_rotation(column.needs);
}

bool is_written(const ResultTable& table, const WrittenColumns& run) {
  return is_met(table.needs, run) && (table.in_python_compat || !run.python_compat);
}

bool is_written(const ResultColumn& column, const WrittenColumns& run) {
  return is_met(column.needs, run) && (!column.python_name.empty() || !run.python_compat);
}

bool is_head_id(const ResultColumn& column) {
  return column.name == layer.name || column.name == q_head.name || column.name == k_head.name;
}

std::string_view written_name(const ResultColumn& column, const WrittenColumns& run) {
  return run.python_compat ? column.python_name : column.name;
}

std::span<const std::string_view> headline_measures() { return headlines; }

bool is_headline(std::string_view column) { return std::ranges::find(headlines, column) != headlines.end(); }

}  // namespace attention_plasticity

#include "attention_plasticity/results/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/results/head_tables.h"
#include "attention_plasticity/stats/jackknife.h"
#include "attention_plasticity/stats/quantile.h"

namespace attention_plasticity {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

double mean_of(std::span<const double> values) {
  if (values.empty()) return nan;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation_of(std::span<const double> values, double mean) {
  if (values.size() < 2) return nan;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

// The values of the heads that have one.
std::vector<double> values_of(const ResultColumn& column, std::span<const HeadResult> results) {
  std::vector<double> values;
  for (const HeadResult& result : results) {
    const double value = metric_value(result, column);
    if (!std::isnan(value)) values.push_back(value);
  }
  return values;
}

ColumnSummary summarize_column(const ResultColumn& column, std::span<const HeadResult> results) {
  std::vector<double> values = values_of(column, results);
  std::ranges::sort(values);
  const double mean = mean_of(values);
  return {column.name,
          values.size(),
          mean,
          deviation_of(values, mean),
          quantile(values, 0.0),
          quantile(values, 0.25),
          quantile(values, 0.5),
          quantile(values, 0.75),
          quantile(values, 1.0)};
}

std::string figure(double value) { return std::isnan(value) ? "-" : fmt::format("{:.4f}", value); }

double share(std::span<const double> values, auto&& condition) {
  if (values.empty()) return nan;
  return static_cast<double>(std::ranges::count_if(values, condition)) / static_cast<double>(values.size());
}

}  // namespace

std::vector<ColumnSummary> summarize(std::span<const HeadResult> results, const WrittenColumns& run) {
  std::vector<ColumnSummary> columns;
  for (const ResultColumn& column : result_table(TableId::metrics).columns) {
    if (column.in_summary && is_written(column, run)) columns.push_back(summarize_column(column, results));
  }
  return columns;
}

std::string summary_table(std::span<const ColumnSummary> columns) {
  using Row = std::array<std::string, 9>;
  std::vector<Row> rows{{"", "count", "mean", "std", "min", "25%", "50%", "75%", "max"}};
  for (const ColumnSummary& c : columns) {
    rows.push_back({std::string(c.column), fmt::format("{}", c.count), figure(c.mean), figure(c.deviation),
                    figure(c.min), figure(c.quartile1), figure(c.median), figure(c.quartile3), figure(c.max)});
  }
  // The usual widths; the kurtosis of heavy tails can need more.
  std::array<std::size_t, 9> width{26, 5, 9, 9, 9, 9, 9, 9, 9};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    text += fmt::format("{:<{}}", row[0], width[0]);
    for (std::size_t i = 1; i < row.size(); ++i) text += fmt::format(" {:>{}}", row[i], width[i]);
    text += '\n';
  }
  return text;
}

ModelSummary summarize_model(std::string_view column, std::span<const HeadResult> results,
                             std::span<const double> without_group) {
  const std::vector<double> values = values_of(metrics_column(column), results);
  return {column,
          values.size(),
          mean_of(values),
          jackknife_error(without_group),
          share(values, [](double value) { return value < low_plasticity; }),
          share(values, [](double value) { return value > high_plasticity; })};
}

RunSummary summarize_run(std::span<const HeadResult> results, const WrittenColumns& run,
                         const WithoutGroup& without_group) {
  RunSummary summary{run, summarize(results, run), {}};
  for (const ResultColumn& column : result_table(TableId::metrics).columns) {
    if (!is_headline(column.name) || !is_written(column, run)) continue;
    summary.models.push_back(summarize_model(column.name, results, without_group.of(column.name)));
  }
  return summary;
}

std::string model_line(std::string_view title, const ModelSummary& model) {
  if (model.heads == 0) return fmt::format("{} of the model: no head has a value", title);
  const std::string error = std::isnan(model.error) ? "" : fmt::format(" ± {:.4f}", model.error);
  return fmt::format("{} of the model: {:.4f}{} (mean of {} {}); {:.0f} % below {}, {:.0f} % above {}", title,
                     model.mean, error, model.heads, model.heads == 1 ? "head" : "heads", 100 * model.share_below,
                     low_plasticity, 100 * model.share_above, high_plasticity);
}

bool has_plasticity(const HeadResult& result) {
  return !std::isnan(result.plasticity.overall) || (result.exact && !std::isnan(result.exact->overall));
}

namespace {

// Without any spread there is no slope, and every component has the figures of one without spread.
bool has_equal_queries(const HeadResult& result) {
  const auto& [skewness, kurtosis, p] = result.residual;
  const NoiseNormality& noise = result.noise;
  return result.n_q_tokens >= 3 && result.slope_norm == 0 && skewness == 0 && kurtosis == 0 && p == 1 &&
         noise.median_abs_skewness == 0 && noise.median_abs_excess_kurtosis == 0;
}

// Keys that do not differ tie always: plasticity is exactly 1, and there are no differences of logits.
bool has_equal_keys(const HeadResult& result) {
  if (result.n_k_tokens < 2) return false;
  if (result.exact && result.exact->n_triples > 0) {
    return result.exact->logit_fixed == 0 && result.exact->logit_spread == 0;
  }
  return result.plasticity.overall == 1;
}

}  // namespace

std::string equal_vectors_line(std::span<const HeadResult> results) {
  std::size_t queries = 0;
  std::size_t keys = 0;
  const HeadId* first = nullptr;
  for (const HeadResult& result : results) {
    const bool equal_queries = has_equal_queries(result);
    const bool equal_keys = has_equal_keys(result);
    if (first == nullptr && (equal_queries || equal_keys)) first = &result.head;
    queries += equal_queries ? 1U : 0U;
    keys += equal_keys ? 1U : 0U;
  }
  if (first == nullptr) return "";
  return fmt::format(
      "the same vector in every row: the queries of {}, the keys of {}, first layer {} q_head {}; the "
      "figures of such a head say nothing about the model",
      counted_text(queries, "head"), counted_text(keys, "head"), first->layer, first->q_head);
}

WithoutPlasticity heads_without_plasticity(std::span<const HeadResult> results) {
  WithoutPlasticity without;
  bool has_cells = true;
  bool has_examples = true;
  for (const HeadResult& result : results) {
    if (has_plasticity(result)) continue;
    ++without.heads;
    has_cells = has_cells && !result.plasticity.cells.empty();
    has_examples = has_examples && !result.examples.empty();
  }
  if (without.heads == 0) return without;
  if (!has_cells) {
    without.reason = "no bucket with enough queries comes after a bucket with keys";
  } else if (!has_examples) {
    without.reason = "without an example_id column no key pairs can be formed";
  } else {
    without.reason = "no example has two keys in one bucket, so no key pairs can be formed";
  }
  return without;
}

}  // namespace attention_plasticity

#include "attention_plasticity/run/csv.h"

#include <array>
#include <charconv>
#include <cmath>
#include <concepts>

namespace attention_plasticity {
namespace {

constexpr std::array metrics{
    MetricColumn{"q_R2_pos", [](const HeadResult& head) { return head.position_r_squared; }},
    MetricColumn{"q_beta_norm", [](const HeadResult& head) { return head.slope_norm; }},
    MetricColumn{"q_R2_scalar", [](const HeadResult& head) { return head.scalar.r_squared; }},
    MetricColumn{"q_mae_baseline", [](const HeadResult& head) { return head.scalar.mae_baseline; }},
    MetricColumn{"q_mae_proj", [](const HeadResult& head) { return head.scalar.mae_projection; }},
    MetricColumn{"q_mae_ratio", [](const HeadResult& head) { return head.scalar.mae_ratio; }},
    MetricColumn{"q_resid0_skew", [](const HeadResult& head) { return head.residual.skewness; }},
    MetricColumn{"q_resid0_kurt", [](const HeadResult& head) { return head.residual.excess_kurtosis; }},
    MetricColumn{"q_resid0_ks_p", [](const HeadResult& head) { return head.residual.ks_p; }},
    MetricColumn{"q_noise_med_abs_skew", [](const HeadResult& head) { return head.noise.median_abs_skewness; }},
    MetricColumn{"q_noise_med_abs_kurt", [](const HeadResult& head) { return head.noise.median_abs_excess_kurtosis; }},
    MetricColumn{"q_noise_med_ks_p", [](const HeadResult& head) { return head.noise.median_ks_p; }},
    MetricColumn{"q_noise_frac_ks_p_lt_alpha", [](const HeadResult& head) { return head.noise.share_below_alpha; }},
    MetricColumn{"ap_overall", [](const HeadResult& head) { return head.plasticity.overall; }},
    MetricColumn{"ap_overall_se", [](const HeadResult& head) { return head.plasticity_error; }},
};

// One CSV text, row after row.
class Table {
 public:
  explicit Table(std::string_view header) : text_(header) { text_ += '\n'; }

  Table& begin(const HeadId& head) { return add(head.layer).add(head.q_head).add(head.k_head); }
  Table& add(double value) {
    separate();
    if (!std::isnan(value)) append(value);
    return *this;
  }
  Table& add(std::integral auto value) {
    separate();
    append(value);
    return *this;
  }
  void end() {
    text_ += '\n';
    at_start_ = true;
  }
  std::string text() && { return std::move(text_); }

 private:
  void separate() {
    if (!at_start_) text_ += ',';
    at_start_ = false;
  }
  void append(auto value) {
    std::array<char, 32> digits;
    const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    text_.append(digits.data(), written.ptr);
  }

  std::string text_;
  bool at_start_ = true;
};

bool has_standard_errors(const RunConfig& config) { return config.analysis.standard_errors; }

}  // namespace

std::span<const MetricColumn> metric_columns() { return metrics; }

std::string head_metrics_csv(std::span<const HeadResult> results, const RunConfig& config) {
  std::span<const MetricColumn> columns = metrics;
  if (!has_standard_errors(config)) columns = columns.first(columns.size() - 1);
  std::string header = "layer,q_head,k_head,n_q_tokens,n_k_tokens,d_model";
  for (const MetricColumn& column : columns) header.append(",").append(column.name);
  Table table(header);
  for (const HeadResult& result : results) {
    table.begin(result.head).add(result.n_q_tokens).add(result.n_k_tokens).add(result.width);
    for (const MetricColumn& column : columns) table.add(column.value(result));
    table.end();
  }
  return std::move(table).text();
}

std::string bucket_csv(std::span<const HeadResult> results, const RunConfig& config) {
  const bool python = config.compat == Compat::python;
  Table table(python ? "layer,q_head,k_head,q_bucket,k_bucket,ap_bucket"
                     : "layer,q_head,k_head,q_bucket,k_bucket,plasticity,n_pairs");
  for (const HeadResult& result : results) {
    for (const Cell& cell : result.plasticity.cells) {
      table.begin(result.head).add(cell.query_bucket).add(cell.key_bucket).add(cell.plasticity);
      if (!python) table.add(cell.n_pairs);
      table.end();
    }
  }
  return std::move(table).text();
}

std::string component_csv(std::span<const HeadResult> results, const RunConfig& config) {
  Table table(config.compat == Compat::python ? "layer,q_head,k_head,component,component_r2,component_weight"
                                              : "layer,q_head,k_head,component,r2,weight");
  for (const HeadResult& result : results) {
    for (std::size_t i = 0; i < result.component_r_squared.size(); ++i) {
      table.begin(result.head).add(i).add(result.component_r_squared[i]).add(result.component_weight[i]).end();
    }
  }
  return std::move(table).text();
}

std::string time_csv(std::span<const HeadResult> results) {
  Table table("layer,q_head,k_head,q_bucket,position,plasticity,n_pairs,n_queries");
  for (const HeadResult& result : results) {
    for (const TimePoint& time : result.plasticity.times) {
      table.begin(result.head)
          .add(time.query_bucket)
          .add(time.position)
          .add(time.plasticity)
          .add(time.n_pairs)
          .add(time.n_queries)
          .end();
    }
  }
  return std::move(table).text();
}

}  // namespace attention_plasticity

#include "attention_plasticity/run/csv.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <iterator>
#include <limits>
#include <vector>

namespace attention_plasticity {
namespace {

using Part = MetricColumn::Part;

double exact_figure(const HeadResult& head, double ExactPlasticity::* figure) {
  return head.exact ? *head.exact.*figure : std::numeric_limits<double>::quiet_NaN();
}

std::size_t triples_of(const HeadResult& head) { return head.exact ? head.exact->n_triples : 0; }

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
    MetricColumn{"ap_overall_se", [](const HeadResult& head) { return head.plasticity_error; }, Part::errors},
    MetricColumn{"ap_exact", [](const HeadResult& head) { return exact_figure(head, &ExactPlasticity::overall); },
                 Part::exact},
    MetricColumn{"ap_exact_se", [](const HeadResult& head) { return head.exact_error; }, Part::exact_errors},
    MetricColumn{"ap_exact_empirical",
                 [](const HeadResult& head) { return exact_figure(head, &ExactPlasticity::empirical); }, Part::exact},
    MetricColumn{"logit_fixed",
                 [](const HeadResult& head) { return exact_figure(head, &ExactPlasticity::logit_fixed); }, Part::exact},
    MetricColumn{"logit_spread",
                 [](const HeadResult& head) { return exact_figure(head, &ExactPlasticity::logit_spread); },
                 Part::exact},
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

bool is_written(Part part, bool errors, bool exact) {
  switch (part) {
    case Part::always:
      return true;
    case Part::errors:
      return errors;
    case Part::exact:
      return exact;
    case Part::exact_errors:
      return errors && exact;
  }
  return false;
}

}  // namespace

bool has_exact(std::span<const HeadResult> results) {
  return std::ranges::any_of(results, [](const HeadResult& result) { return result.exact.has_value(); });
}

std::span<const MetricColumn> metric_columns() { return metrics; }

std::string head_metrics_csv(std::span<const HeadResult> results, const RunConfig& config) {
  const bool exact = has_exact(results);
  std::vector<MetricColumn> columns;
  std::ranges::copy_if(metrics, std::back_inserter(columns), [&](const MetricColumn& column) {
    return is_written(column.part, config.analysis.standard_errors, exact);
  });
  std::string header = "layer,q_head,k_head,n_q_tokens,n_k_tokens,d_model";
  for (const MetricColumn& column : columns) header.append(",").append(column.name);
  if (exact) header += ",n_triples";
  Table table(header);
  for (const HeadResult& result : results) {
    table.begin(result.head).add(result.n_q_tokens).add(result.n_k_tokens).add(result.width);
    for (const MetricColumn& column : columns) table.add(column.value(result));
    if (exact) table.add(triples_of(result));
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
    for (const TimePoint& time : result.times) {
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

std::string distance_csv(std::span<const HeadResult> results) {
  Table table("layer,q_head,k_head,near_bin,far_bin,plasticity,logit_fixed,logit_spread,n_triples");
  for (const HeadResult& result : results) {
    if (!result.exact) continue;
    for (const DistanceBin& cell : result.exact->distances) {
      table.begin(result.head)
          .add(cell.near_bin)
          .add(cell.far_bin)
          .add(cell.plasticity)
          .add(cell.logit_fixed)
          .add(cell.logit_spread)
          .add(cell.n_triples)
          .end();
    }
  }
  return std::move(table).text();
}

}  // namespace attention_plasticity

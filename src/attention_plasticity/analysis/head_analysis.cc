#include "attention_plasticity/analysis/head_analysis.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include "attention_plasticity/analysis/query_statistics.h"
#include "attention_plasticity/analysis/time_points.h"
#include "attention_plasticity/base/stop_scope.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/plasticity/key_buckets.h"
#include "attention_plasticity/plasticity/position_frame.h"
#include "attention_plasticity/random/numpy_generator.h"
#include "attention_plasticity/stats/householder.h"
#include "attention_plasticity/stats/jackknife.h"
#include "attention_plasticity/stats/line_fit.h"
#include "attention_plasticity/stats/reflected_rows.h"

namespace attention_plasticity {
namespace {

// Sign of the mean over buckets of the mean key of each bucket; 0 counts as +1.
std::vector<double> orientation(const RowsView& keys) {
  std::vector<double> sign(keys.width, 0.0);
  std::vector<double> sum(keys.width);
  for (const auto& [bucket, of_bucket] : group_by_bucket(keys)) {
    std::ranges::fill(sum, 0.0);
    for (const std::size_t i : of_bucket.rows) {
      throw_if_stopped_at(i);
      const auto vector = keys.row(i);
      for (std::size_t c = 0; c < keys.width; ++c) sum[c] += static_cast<double>(vector[c]);
    }
    const auto count = static_cast<double>(of_bucket.rows.size());
    for (std::size_t c = 0; c < keys.width; ++c) sign[c] += sum[c] / count;
  }
  for (double& value : sign) value = value < 0 ? -1.0 : 1.0;
  return sign;
}

// The sums of rows that are multiplied by `sign`, component by component.
LineSums orient(LineSums sums, std::span<const double> sign) {
  for (std::size_t c = 0; c < sign.size(); ++c) {
    sums.mean[c] *= sign[c];
    sums.tx[c] *= sign[c];
  }
  return sums;
}

std::vector<double> reflect(std::vector<double> x, const Householder& reflection) {
  reflection.apply(x);
  return x;
}

// An exact integer, which may exceed 2^64.
GeneratorSeed head_seed(std::uint64_t seed, const HeadId& head) {
  const auto layer = static_cast<GeneratorSeed>(head.layer);
  const auto q_head = static_cast<GeneratorSeed>(head.q_head);
  return seed + 10007 * layer + 379 * q_head;
}

// What the models of plasticity need to know of how queries follow position.
struct PositionModel {
  PositionFrame frame;
  LineFit lines;  // of the reflected queries
};

// Steps 3 to 8 of the pipeline. Queries are seen in three spaces: as captured, oriented by the signs of the keys, and
// reflected so that their slope on position lies along component 0.
PositionModel follow_position(const RowsView& queries, std::span<const double> orientation,
                              const AnalysisOptions& options, ConstantComponent constant_component,
                              HeadResult& result) {
  const LineSums captured_sums = sum_rows(queries.position, queries.vectors, queries.width);

  const LineSums oriented_sums = orient(captured_sums, orientation);
  const LineFit oriented_lines = fit_lines(oriented_sums, constant_component);
  const auto& [intercept, slope, r_squared, variance, origin] = oriented_lines;
  result.position_r_squared =
      std::accumulate(r_squared.begin(), r_squared.end(), 0.0) / static_cast<double>(queries.width);
  result.slope_norm = std::sqrt(std::inner_product(slope.begin(), slope.end(), slope.begin(), 0.0));
  result.component_r_squared = r_squared;
  result.component_weight = component_weights(r_squared);

  const Householder reflection(slope);
  const std::vector<double> reflected_mean = reflect(oriented_sums.mean, reflection);
  const std::vector<bool> tested =
      tested_components(queries.size(), queries.width, options.normality_max_dims, options.seed);
  throw_if_stopped();
  const ReflectedRows reflected_queries(queries.vectors, orientation, reflection, reflected_mean, tested);
  const ReflectedComponents components =
      reflected_components(reflected_queries, tested, options.p_alpha, energy_of(captured_sums));
  const LineSums reflected_sums{oriented_sums.count,
                                oriented_sums.mean_t,
                                oriented_sums.tt,
                                reflected_mean,
                                reflect(oriented_sums.tx, reflection),
                                components.squares,
                                oriented_sums.origin};
  throw_if_stopped();
  LineFit reflected_lines = fit_lines(reflected_sums);
  result.scalar = scalar_predictability(queries.position, reflected_queries.along_slope());
  result.residual = residual_normality(queries.position, reflected_queries.first_component(), reflected_lines.slope[0],
                                       reflected_lines.origin);
  result.noise = components.noise;
  return {PositionFrame(orientation, reflection), std::move(reflected_lines)};
}

PooledSettings pooled_settings(const AnalysisOptions& options, const std::optional<ResultLimit>& limit) {
  return {options.method,
          options.sampler,
          options.weighting,
          options.sliding_window_unit,
          options.num_pairs_per_bucket,
          options.max_relative_distance,
          limit};
}

ExactSettings exact_settings(const AnalysisOptions& options, const Rotation& rotation) {
  return {rotation, options.vectors, options.sliding_window_unit, options.num_triples, options.empirical_queries};
}

// Queries, keys and rotation must come from the same model.
void check_widths(const HeadId& head, std::size_t queries, std::size_t keys, const Rotation* rotation) {
  if (queries != keys) {
    throw Error(ErrorKind::input,
                fmt::format("q vectors have {} components, k vectors {} (layer {}, q_head {}, k_head {}); both files "
                            "must come from the same model",
                            queries, keys, head.layer, head.q_head, head.k_head));
  }
  if (rotation != nullptr && rotation->first + rotation->dim() > queries) {
    throw Error(ErrorKind::input, fmt::format("the rotation has {} components, but the vectors have {}; both must be "
                                              "of the same model",
                                              rotation->first + rotation->dim(), queries));
  }
}

}  // namespace

OrientedKeys orient_keys(KeptRows keys, const AnalysisOptions& options) {
  check_columns(keys.view(), "keys");
  std::vector<double> sign = orientation(keys.view());
  keys.subsample(options, first_own_key_example);
  return {std::move(keys), std::move(sign)};
}

MeasuredHead measure_head(const HeadId& head, KeptRows captured_queries, const OrientedKeys& keys,
                          const AnalysisOptions& options, const HeadContext& context) {
  const RowsView& key_rows = keys.rows.view();
  check_columns(captured_queries.view(), "queries");
  check_widths(head, captured_queries.view().width, key_rows.width, context.rotation);
  captured_queries.subsample(options, first_own_query_example);
  const RowsView& queries = captured_queries.view();
  HeadResult result;
  result.head = head;
  result.n_q_tokens = queries.size();
  result.n_k_tokens = key_rows.size();
  result.width = queries.width;
  result.window = queries.window;

  const PositionModel model = follow_position(queries, keys.orientation, options, context.constant_component, result);

  throw_if_stopped();
  std::vector<std::uint64_t> examples = distinct_examples(queries.example, key_rows.example);
  HeadGroups groups;
  if (options.standard_errors) {
    groups = (context.groups != nullptr ? *context.groups : RunGroups(ranges_of(examples)))
                 .of_head(queries.example, key_rows.example);
  }
  const GeneratorSeed seed = head_seed(options.seed, head);
  MeasuredPlasticity pooled =
      measure_plasticity(queries, key_rows, model.frame, model.lines, pooled_settings(options, context.limit),
                         groups.rows, NumpyGenerator(seed));
  std::optional<MeasuredExact> exact;
  if (context.rotation != nullptr && options.num_triples > 0) {
    exact = measure_exact_plasticity(queries, key_rows, exact_settings(options, *context.rotation), groups.rows,
                                     NumpyGenerator(seed + 1));
  }
  result.times = join_times(queries, pooled.times, exact ? exact->times : std::vector<ExactTime>());
  result.plasticity_error = jackknife_error(pooled.without_group);
  if (exact) result.exact_error = jackknife_error(exact->without_group);
  if (examples.back() < first_own_query_example) result.examples = std::move(examples);
  WithoutGroup without_group{std::move(groups.numbers), std::move(pooled.without_group), {}};
  result.plasticity = std::move(pooled);
  if (exact) {
    without_group.exact = std::move(exact->without_group);
    result.exact = std::move(*exact);
  }
  return {std::move(result), std::move(without_group)};
}

}  // namespace attention_plasticity

#include "attention_plasticity/analysis/head_analysis.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include "attention_plasticity/analysis/example_groups.h"
#include "attention_plasticity/analysis/query_statistics.h"
#include "attention_plasticity/analysis/time_points.h"
#include "attention_plasticity/base/error.h"
#include "attention_plasticity/base/widen.h"
#include "attention_plasticity/plasticity/key_buckets.h"
#include "attention_plasticity/plasticity/key_pairs.h"
#include "attention_plasticity/random/numpy_generator.h"
#include "attention_plasticity/stats/householder.h"
#include "attention_plasticity/stats/jackknife.h"
#include "attention_plasticity/stats/line_fit.h"
#include "attention_plasticity/stats/rotated_rows.h"

namespace attention_plasticity {
namespace {

// Rows without an example are examples of their own. Captured ids lie below 2^63, so these meet none of them.
constexpr std::uint64_t first_own_query_example = std::uint64_t{1} << 63;
constexpr std::uint64_t first_own_key_example = first_own_query_example + (std::uint64_t{1} << 62);

void check(const HeadRows& rows, std::string_view what) {
  const std::size_t n = rows.size();
  if (n == 0) throw Error(ErrorKind::input, fmt::format("there are no {}", what));
  if (rows.width == 0) throw Error(ErrorKind::input, fmt::format("the {} have no components", what));
  if (rows.bucket.size() != n || rows.vectors.size() != n * rows.width ||
      (!rows.example.empty() && rows.example.size() != n)) {
    throw Error(ErrorKind::input,
                fmt::format("the columns of the {} differ in length: {} positions, {} buckets, {} examples, {} values "
                            "of {} components",
                            what, n, rows.bucket.size(), rows.example.size(), rows.vectors.size(), rows.width));
  }
}

HeadRows pick(const HeadRows& rows, std::span<const std::size_t> kept) {
  HeadRows picked;
  picked.width = rows.width;
  picked.window = rows.window;
  picked.vectors.reserve(kept.size() * rows.width);
  for (const std::size_t i : kept) {
    picked.bucket.push_back(rows.bucket[i]);
    picked.example.push_back(rows.example[i]);
    picked.position.push_back(rows.position[i]);
    const auto vector = rows.row(i);
    picked.vectors.insert(picked.vectors.end(), vector.begin(), vector.end());
  }
  return picked;
}

HeadRows subsample(HeadRows rows, const AnalysisOptions& options, std::uint64_t first_own_example) {
  if (rows.example.empty()) {
    rows.example.resize(rows.size());
    std::iota(rows.example.begin(), rows.example.end(), first_own_example);
  }
  if (!options.max_tokens_per_head || rows.size() <= *options.max_tokens_per_head) return rows;
  return pick(rows, NumpyGenerator(options.seed).choice_without_replacement(rows.size(), *options.max_tokens_per_head));
}

// Sign of the mean over buckets of the mean key of each bucket; 0 counts as +1.
std::vector<double> orientation(const HeadRows& keys) {
  std::map<std::int64_t, std::pair<double, std::vector<double>>> buckets;  // count, sum
  for (std::size_t i = 0; i < keys.size(); ++i) {
    auto& [count, sum] = buckets[keys.bucket[i]];
    count += 1;
    sum.resize(keys.width);
    const auto vector = keys.row(i);
    for (std::size_t c = 0; c < keys.width; ++c) sum[c] += static_cast<double>(vector[c]);
  }
  std::vector<double> sign(keys.width, 0.0);
  for (const auto& [bucket, of_bucket] : buckets) {
    for (std::size_t c = 0; c < keys.width; ++c) sign[c] += of_bucket.second[c] / of_bucket.first;
  }
  for (double& value : sign) value = value < 0 ? -1.0 : 1.0;
  return sign;
}

// The sums of rows multiplied by `sign`, component by component.
void orient(LineSums& sums, std::span<const double> sign) {
  for (std::size_t c = 0; c < sign.size(); ++c) {
    sums.mean[c] *= sign[c];
    sums.tx[c] *= sign[c];
  }
}

// Exact, though it may pass 2^64.
GeneratorSeed head_seed(std::uint64_t seed, const HeadId& head) {
  const auto layer = static_cast<GeneratorSeed>(head.layer);
  const auto q_head = static_cast<GeneratorSeed>(head.q_head);
  return seed + 10007 * layer + 379 * q_head;
}

// Draws the pairs of every cell with the head's one generator, cell after cell.
template <typename PairSampler>
class CellDrawer {
 public:
  CellDrawer(const HeadId& head, const PreparedKeys& keys, const KeyBuckets& buckets, std::optional<double> window,
             PairSampler sampler, const AnalysisOptions& options, const ExampleGroups& groups)
      : buckets_(buckets),
        window_(window),
        sampler_(std::move(sampler)),
        options_(options),
        group_of_key_(groups.of(keys.rows.example)),
        generator_(head_seed(options.seed, head)) {}

  void operator()(std::int64_t query_bucket, double mean_position, const TakeCell& take) {
    for (const std::int64_t key_bucket :
         visible_key_buckets(buckets_, query_bucket, mean_position, window_, options_.sliding_window_unit)) {
      CellPairs cell{key_bucket, sampler_.draw(key_bucket, options_.num_pairs_per_bucket, generator_), {}};
      if (!group_of_key_.empty()) {
        for (const KeyPair& pair : cell.pairs) cell.group.push_back(group_of_key_[pair.first]);
      }
      take(cell);
    }
  }

 private:
  const KeyBuckets& buckets_;
  std::optional<double> window_;
  PairSampler sampler_;
  const AnalysisOptions& options_;
  std::vector<std::size_t> group_of_key_;
  NumpyGenerator generator_;
};

HeadPlasticity head_plasticity(const HeadId& head, const HeadRows& queries, const PreparedKeys& keys,
                               const AnalysisOptions& options, const Householder& rotation,
                               const LineFit& rotated_lines, const ExampleGroups& groups) {
  const KeyBuckets buckets = group_by_bucket(keys.rows);
  const std::vector<std::size_t> group = groups.of(queries.example);
  const PositionFrame frame(keys.orientation, rotation);
  const auto captured = [&](std::size_t row, std::span<double> out) { widen(queries.row(row), out); };
  const PooledQueries pooled{captured, frame, rotated_lines, queries.bucket, queries.position, group, groups.count()};
  const auto measure = [&](auto sampler) {
    return measure_plasticity(pooled, keys.rows,
                              CellDrawer(head, keys, buckets, queries.window, std::move(sampler), options, groups),
                              options.method, options.weighting);
  };
  if (options.sampler == Sampler::bucket) return measure(BucketPairSampler(keys.rows, buckets));
  return measure(LocalPairSampler(queries, keys.rows, buckets, options.max_relative_distance));
}

ExactPlasticity head_exact_plasticity(const HeadId& head, const HeadRows& queries, const HeadRows& keys,
                                      const AnalysisOptions& options, const Rotation& rotation,
                                      const ExampleGroups& groups) {
  const ExactSettings settings{rotation, options.vectors, options.sliding_window_unit, options.num_triples,
                               options.empirical_queries};
  return measure_exact_plasticity(queries, keys, settings, groups.of(queries.example), groups.count(),
                                  NumpyGenerator(head_seed(options.seed, head) + 1));
}

// Files of one run must fit each other.
void check_widths(const HeadId& head, std::size_t queries, std::size_t keys, const Rotation* rotation) {
  if (queries != keys) {
    throw Error(ErrorKind::input,
                fmt::format("q vectors have {} components, k vectors {} (layer {}, q_head {}, k_head {}); both files "
                            "must come from the same model",
                            queries, keys, head.layer, head.q_head, head.k_head));
  }
  if (rotation != nullptr && rotation->dim() > queries) {
    throw Error(ErrorKind::input, fmt::format("the rotation has {} components, but the vectors have {}; the file "
                                              "must come from the model that the rotation is of",
                                              rotation->dim(), queries));
  }
}

}  // namespace

PreparedKeys prepare_keys(HeadRows keys, const AnalysisOptions& options) {
  check(keys, "keys");
  std::vector<double> sign = orientation(keys);
  return {subsample(std::move(keys), options, first_own_key_example), std::move(sign)};
}

HeadResult analyze_head(const HeadId& head, HeadRows captured_queries, const PreparedKeys& keys,
                        const AnalysisOptions& options, const HeadContext& context) {
  check(captured_queries, "queries");
  check_widths(head, captured_queries.width, keys.rows.width, context.rotation);
  const HeadRows queries = subsample(std::move(captured_queries), options, first_own_query_example);
  HeadResult result;
  result.head = head;
  result.n_q_tokens = queries.size();
  result.n_k_tokens = keys.rows.size();
  result.width = queries.width;
  result.window = queries.window;

  LineSums sums = sum_rows(queries.position, queries.vectors, queries.width);
  orient(sums, keys.orientation);
  LineFit lines =
      fit_lines(sums, options.constant_component_fits ? ConstantComponent::fits : ConstantComponent::has_no_fit);
  result.position_r_squared =
      std::accumulate(lines.r_squared.begin(), lines.r_squared.end(), 0.0) / static_cast<double>(queries.width);
  result.slope_norm = std::sqrt(std::inner_product(lines.slope.begin(), lines.slope.end(), lines.slope.begin(), 0.0));
  result.component_weight = component_weights(lines.r_squared);
  result.component_r_squared = std::move(lines.r_squared);

  const Householder rotation(lines.slope);
  rotation.apply(sums.mean);
  rotation.apply(sums.tx);
  const std::vector<bool> tested =
      tested_components(queries.size(), queries.width, options.normality_max_dims, options.seed);
  const RotatedRows rotated_queries(queries.vectors, keys.orientation, lines.slope, sums.mean, tested);
  result.scalar = scalar_predictability(queries.position, rotated_queries.along_slope());
  const RotatedComponents components = rotated_components(rotated_queries, tested, options.p_alpha);
  result.noise = components.noise;
  sums.xx = components.squares;
  const LineFit rotated = fit_lines(sums);
  result.residual = residual_normality(queries.position, rotated_queries.first_component(), rotated.slope[0]);

  std::vector<std::uint64_t> examples = distinct_examples(queries.example, keys.rows.example);
  const bool own_groups = context.jackknife_examples.empty();
  const ExampleGroups groups =
      options.standard_errors ? ExampleGroups(own_groups ? examples : context.jackknife_examples) : ExampleGroups();
  result.plasticity = head_plasticity(head, queries, keys, options, rotation, rotated, groups);
  if (own_groups) result.plasticity_error = jackknife_error(result.plasticity.without_group);
  if (context.rotation != nullptr && options.num_triples > 0) {
    result.exact = head_exact_plasticity(head, queries, keys.rows, options, *context.rotation, groups);
    if (own_groups) result.exact_error = jackknife_error(result.exact->without_group);
  }
  result.times =
      join_times(queries, result.plasticity.times, result.exact ? result.exact->times : std::vector<ExactTime>());
  if (!own_groups) {
    for (TimePoint& time : result.times) time.exact_error = std::numeric_limits<double>::quiet_NaN();
  }
  if (examples.back() < first_own_query_example) result.examples = std::move(examples);
  return result;
}

HeadResult analyze_head(const HeadId& head, HeadRows queries, HeadRows keys, const AnalysisOptions& options,
                        const HeadContext& context) {
  return analyze_head(head, std::move(queries), prepare_keys(std::move(keys), options), options, context);
}

}  // namespace attention_plasticity

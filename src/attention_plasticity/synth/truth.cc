#include "attention_plasticity/synth/truth.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "attention_plasticity/synth/context.h"
#include "attention_plasticity/synth/gaussian_plasticity.h"
#include "attention_plasticity/synth/generated_rows.h"
#include "attention_plasticity/synth/head_model.h"
#include "attention_plasticity/synth/noise.h"
#include "attention_plasticity/synth/population.h"
#include "attention_plasticity/synth/query_moments.h"
#include "attention_plasticity/synth/streams.h"

namespace attention_plasticity {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t fewest_pairs_of_cell = 4;
constexpr std::size_t most_batches = 16;
constexpr std::size_t queries_of_batch = 32;

struct WeightedCell {
  std::size_t query_bucket;
  std::size_t key_bucket;
  double weight;  // the weights of all cells add up to 1
};

// The cells of a head of which every position is captured, ordered by query bucket and key bucket.
std::vector<WeightedCell> visible_cells(const SynthOptions& options, const Context& context, int layer) {
  const std::vector<double> queries = expected_rows_by_bucket(options);
  const std::optional<double> window = window_of_layer(options, layer);
  std::vector<WeightedCell> cells;
  double total = 0;
  for (std::size_t j = 1; j < context.buckets(); ++j) {
    for (std::size_t c = 0; c < j; ++c) {
      const auto last_key = static_cast<double>(context.bucket(c).last());
      if (window && c + 1 != j && last_key <= context.bucket(j).mean() - *window) continue;
      cells.push_back({j, c, queries[j]});
      total += queries[j];
    }
  }
  for (WeightedCell& cell : cells) cell.weight /= total;
  return cells;
}

Estimate mean_and_error(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  double mean = 0;
  for (const double value : values) mean += value;
  mean /= count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, std::sqrt(squares / (count - 1) / count)};
}

float dot(std::span<const float> a, std::span<const float> b) {
  constexpr std::size_t lanes = 8;
  std::array<float, lanes> sums{};
  std::size_t i = 0;
  for (; i + lanes <= a.size(); i += lanes) {
    for (std::size_t k = 0; k < lanes; ++k) sums[k] += a[i + k] * b[i + k];
  }
  float sum = 0;
  for (; i < a.size(); ++i) sum += a[i] * b[i];
  for (const float lane : sums) sum += lane;
  return sum;
}

// 4 p (1 - p) n / (n - 1), where p is the share of n queries with w·q > 0. The factor removes the bias of finite n.
double empirical_plasticity(std::span<const float> queries, std::span<const float> w) {
  const std::size_t count = queries.size() / w.size();
  std::size_t prefer = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (dot(queries.subspan(i * w.size(), w.size()), w) > 0) ++prefer;
  }
  const auto n = static_cast<double>(count);
  const double p = static_cast<double>(prefer) / n;
  return 4 * p * (1 - p) * n / (n - 1);
}

class TruthSampler {
 public:
  TruthSampler(const SynthOptions& options, HeadNumber head)
      : context_(options),
        rotation_(make_rotation(options)),
        queries_(make_head_model(options, Side::query, head)),
        keys_(make_head_model(options, Side::key, key_head_of(options, head))),
        covariance_(noise_covariance(queries_)),
        query_noise_(queries_, options.tails),
        effects_(queries_, Tails::normal),
        key_noise_(keys_, options.tails),
        normals_(stream_generator(truth_seed(options), Side::query, head, Stream::truth)) {}

  /// To be called before the cells of a query bucket, which must be measured one after the other.
  void begin_bucket(std::size_t bucket, std::size_t batches) {
    const TokenRange range = context_.bucket(bucket);
    moments_ = bucket_moments(queries_, covariance_, rotation_, range, normals_.generator());
    drawn_ = draw_queries(queries_, query_noise_, effects_, rotation_, range, batches * queries_of_batch, normals_);
  }

  /// Returns the cell's plasticity, and adds its model-free plasticity to each batch. Batches share neither pairs nor
  /// queries, so their spread shows all of the random error.
  Estimate measure(const WeightedCell& cell, std::size_t pairs, std::span<double> choice_of_batch) {
    const std::size_t dim = queries_.dim();
    const std::size_t batches = choice_of_batch.size();
    const std::vector<float> differences =
        draw_key_differences(keys_, key_noise_, rotation_, context_.bucket(cell.key_bucket), pairs, normals_);
    std::vector<double> values(pairs);
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      const std::span<const float> w = std::span(differences).subspan(pair * dim, dim);
      values[pair] = gaussian_plasticity(moments_, w);
      const std::size_t batch = pair % batches;
      const std::size_t pairs_of_batch = (pairs - batch + batches - 1) / batches;
      const auto block = std::span<const float>(drawn_).subspan(batch * queries_of_batch * dim, queries_of_batch * dim);
      choice_of_batch[batch] += cell.weight * empirical_plasticity(block, w) / static_cast<double>(pairs_of_batch);
    }
    return mean_and_error(values);
  }

 private:
  Context context_;
  std::optional<Rotation> rotation_;
  HeadModel queries_;
  HeadModel keys_;
  Matrix covariance_;
  Noise query_noise_;
  Noise effects_;
  Noise key_noise_;
  NormalSource normals_;
  QueryMoments moments_;
  std::vector<float> drawn_;
};

}  // namespace

HeadNumber key_head_of(const SynthOptions& options, HeadNumber query_head) {
  return {query_head.layer, query_head.head / (options.q_heads / options.k_heads)};
}

HeadTruth head_truth(const SynthOptions& options, HeadNumber query_head) {
  HeadTruth truth{{nan, nan}, {nan, nan}, 0, {}, exact_truth(options, query_head)};
  const std::vector<WeightedCell> cells = visible_cells(options, Context(options), query_head.layer);
  if (cells.empty() || options.truth_pairs == 0) return truth;

  const std::size_t pairs = std::max(fewest_pairs_of_cell, (options.truth_pairs + cells.size() - 1) / cells.size());
  std::vector<double> choice_of_batch(std::min(pairs, most_batches));
  TruthSampler sampler(options, query_head);
  double value = 0;
  double variance = 0;
  for (const WeightedCell& cell : cells) {
    if (truth.cells.empty() || truth.cells.back().query_bucket != cell.query_bucket) {
      sampler.begin_bucket(cell.query_bucket, choice_of_batch.size());
    }
    const Estimate of_cell = sampler.measure(cell, pairs, choice_of_batch);
    truth.cells.push_back({cell.query_bucket, cell.key_bucket, of_cell});
    value += cell.weight * of_cell.value;
    variance += cell.weight * cell.weight * of_cell.error * of_cell.error;
  }
  truth.plasticity = {value, std::sqrt(variance)};
  truth.choice = mean_and_error(choice_of_batch);
  truth.pairs = pairs * cells.size();
  return truth;
}

}  // namespace attention_plasticity

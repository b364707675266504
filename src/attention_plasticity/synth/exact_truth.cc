#include "attention_plasticity/synth/exact_truth.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "attention_plasticity/synth/context.h"
#include "attention_plasticity/synth/gaussian_plasticity.h"
#include "attention_plasticity/synth/generated_rows.h"
#include "attention_plasticity/synth/head_model.h"
#include "attention_plasticity/synth/near_key.h"
#include "attention_plasticity/synth/noise.h"
#include "attention_plasticity/synth/streams.h"
#include "attention_plasticity/synth/truth.h"

namespace attention_plasticity {
namespace {

constexpr std::size_t documents = 64;

// Of the positions of all query rows.
struct PositionMoments {
  double mean = 0;
  double variance = 0;
};

PositionMoments position_moments(const SynthOptions& options) {
  const Context context(options);
  const std::vector<double> rows = expected_rows_by_bucket(options);
  double total = 0;
  PositionMoments moments;
  for (std::size_t b = 0; b < rows.size(); ++b) {
    total += rows[b];
    moments.mean += rows[b] * context.bucket(b).mean();
  }
  moments.mean /= total;
  for (std::size_t b = 0; b < rows.size(); ++b) {
    const auto count = static_cast<double>(context.bucket(b).count);
    const double offset = context.bucket(b).mean() - moments.mean;
    moments.variance += rows[b] / total * ((count * count - 1) / 12 + offset * offset);
  }
  return moments;
}

// Of the un-rotated queries m + b t + s + x of all documents.
QueryMoments unrotated_moments(const HeadModel& queries, const PositionMoments& positions) {
  QueryMoments moments{queries.mean, noise_covariance(queries)};
  const double with_effects = 1 + queries.effect * queries.effect;
  for (std::size_t a = 0; a < queries.dim(); ++a) {
    moments.mean[a] += queries.slope[a] * positions.mean;
    const std::span<double> row = moments.covariance.row(a);
    for (std::size_t b = 0; b < queries.dim(); ++b) {
      row[b] = with_effects * row[b] + positions.variance * queries.slope[a] * queries.slope[b];
    }
  }
  return moments;
}

// The keys of a document that a query at position t sees.
std::span<const std::uint64_t> seen_keys(std::span<const std::uint64_t> keys, std::uint64_t t,
                                         std::optional<double> window) {
  const auto end = std::ranges::upper_bound(keys, t);
  const auto is_beyond = [&](std::uint64_t position) { return window && static_cast<double>(t - position) >= *window; };
  return {std::partition_point(keys.begin(), end, is_beyond), end};
}

struct DocumentMean {
  double plasticity = 0;  // over its triples
  double queries = 0;     // that see two keys
};

class TripleSampler {
 public:
  TripleSampler(const SynthOptions& options, HeadNumber head)
      : options_(options),
        context_(options),
        window_(window_of_layer(options, head.layer)),
        rotation_(make_rotation(options)),
        moments_(unrotated_moments(make_head_model(options, Side::query, head), position_moments(options))),
        keys_(make_head_model(options, Side::key, key_head_of(options, head))),
        noise_(keys_, options.tails),
        normals_(stream_generator(truth_seed(options), Side::query, head, Stream::exact_truth)) {}

  DocumentMean measure_document(std::size_t triples) {
    const std::size_t rows = rows_of_example(options_, normals_.generator().integers(options_.examples));
    std::vector<std::uint64_t> queries = context_.draw_positions(rows, normals_.generator());
    const std::vector<std::uint64_t> keys = context_.draw_positions(rows, normals_.generator());
    std::erase_if(queries, [&](std::uint64_t t) { return seen_keys(keys, t, window_).size() < 2; });
    if (queries.empty()) return {};
    double sum = 0;
    for (std::size_t i = 0; i < triples; ++i) {
      const std::uint64_t t = queries[normals_.generator().integers(queries.size())];
      sum += measure_triple(t, seen_keys(keys, t, window_));
    }
    return {sum / static_cast<double>(triples), static_cast<double>(queries.size())};
  }

 private:
  double measure_triple(std::uint64_t t, std::span<const std::uint64_t> keys) {
    const std::size_t first = draw_near_key(keys, t, std::nullopt, normals_.generator());
    const std::size_t second = draw_near_key(keys, t, first, normals_.generator());
    const std::size_t dim = keys_.dim();
    std::vector<float> rows(2 * dim);
    noise_.draw(normals_, rows);
    const std::span<float> a = std::span(rows).first(dim);
    const std::span<float> b = std::span(rows).last(dim);
    place_row(keys_, rotation_, static_cast<double>(keys[first]), a);
    place_row(keys_, rotation_, static_cast<double>(keys[second]), b);
    std::ranges::transform(a, b, a.begin(), std::minus());
    if (rotation_) rotation_->rotate(a, -static_cast<double>(t));
    return gaussian_plasticity(moments_, a);
  }

  const SynthOptions& options_;
  Context context_;
  std::optional<double> window_;
  std::optional<Rotation> rotation_;
  QueryMoments moments_;
  HeadModel keys_;
  Noise noise_;
  NormalSource normals_;
};

}  // namespace

ExactTruth exact_truth(const SynthOptions& options, HeadNumber query_head) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  ExactTruth truth{{nan, nan}, 0};
  if (options.truth_pairs == 0) return truth;
  const std::size_t triples = (options.truth_pairs + documents - 1) / documents;
  TripleSampler sampler(options, query_head);
  std::vector<DocumentMean> means(documents);
  double weight = 0;
  double sum = 0;
  for (DocumentMean& mean : means) {
    mean = sampler.measure_document(triples);
    weight += mean.queries;
    sum += mean.queries * mean.plasticity;
    if (mean.queries > 0) truth.triples += triples;
  }
  if (weight == 0) return truth;
  truth.plasticity.value = sum / weight;
  double squares = 0;
  for (const DocumentMean& mean : means) {
    const double deviation = mean.queries / weight * (mean.plasticity - truth.plasticity.value);
    squares += deviation * deviation;
  }
  constexpr auto count = static_cast<double>(documents);
  truth.plasticity.error = std::sqrt(squares * count / (count - 1));
  return truth;
}

}  // namespace attention_plasticity

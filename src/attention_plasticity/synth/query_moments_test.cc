#include "attention_plasticity/synth/query_moments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace attention_plasticity {
namespace {

constexpr std::size_t dim = 6;
const Rotation some_rotation{RotaryLayout::half, {1.0, std::pow(50.0, -1.0 / 3), std::pow(50.0, -2.0 / 3)}, 1.0};
const Rotation last_pairs{RotaryLayout::interleaved, {1.0, 0.14}, 1.0, 2};
const Rotation one_pair{RotaryLayout::half, {0.3}, 1.0, 1};

HeadModel model_with(double effect) {
  SynthOptions options;
  options.dim = dim;
  options.spectrum = 1;
  options.mean = 2;
  options.slope = 5;
  options.example_effect = effect;
  options.buckets = 2;
  options.bucket_size = 16;
  return make_head_model(options, Side::query, {0, 3});
}

// The covariance rotated row by row, then column by column.
Matrix rotated(const Matrix& covariance, const Rotation& rotation, double position) {
  Matrix once(dim, dim);
  for (std::size_t a = 0; a < dim; ++a) {
    std::ranges::copy(covariance.row(a), once.row(a).begin());
    rotation.rotate(once.row(a), position);
  }
  Matrix twice(dim, dim);
  for (std::size_t b = 0; b < dim; ++b) {
    std::vector<double> column(dim);
    for (std::size_t a = 0; a < dim; ++a) column[a] = once.row(a)[b];
    rotation.rotate(column, position);
    for (std::size_t a = 0; a < dim; ++a) twice.row(a)[b] = column[a];
  }
  return twice;
}

// Moments by summing over the positions one by one.
QueryMoments summed(const HeadModel& model, const std::optional<Rotation>& rotation, TokenRange range) {
  const Matrix noise = noise_covariance(model);
  const auto count = static_cast<double>(range.count);
  QueryMoments moments{std::vector<double>(dim), Matrix(dim, dim)};
  for (std::uint64_t t = range.first; t <= range.last(); ++t) {
    const auto position = static_cast<double>(t);
    const Matrix covariance = rotation ? rotated(noise, *rotation, position) : noise;
    std::vector<double> path(dim);
    for (std::size_t c = 0; c < dim; ++c) path[c] = model.mean[c] + model.slope[c] * position;
    if (rotation) rotation->rotate(path, position);
    for (std::size_t a = 0; a < dim; ++a) {
      moments.mean[a] += path[a] / count;
      for (std::size_t b = 0; b < dim; ++b) {
        moments.covariance.row(a)[b] +=
            ((1 + model.effect * model.effect) * covariance.row(a)[b] + path[a] * path[b]) / count;
      }
    }
  }
  for (std::size_t a = 0; a < dim; ++a) {
    for (std::size_t b = 0; b < dim; ++b) moments.covariance.row(a)[b] -= moments.mean[a] * moments.mean[b];
  }
  return moments;
}

double largest_difference(const QueryMoments& a, const QueryMoments& b) {
  double worst = 0;
  for (std::size_t i = 0; i < dim; ++i) worst = std::max(worst, std::abs(a.mean[i] - b.mean[i]));
  for (std::size_t i = 0; i < dim * dim; ++i) {
    worst = std::max(worst, std::abs(a.covariance.data()[i] - b.covariance.data()[i]));
  }
  return worst;
}

TEST(QueryMoments, AreTheSumOverThePositionsOfABucket) {
  for (const double effect : {0.0, 0.7}) {
    const HeadModel model = model_with(effect);
    for (const auto& rotation : {std::optional<Rotation>(), std::optional(some_rotation), std::optional(last_pairs),
                                 std::optional(one_pair)}) {
      for (const TokenRange range : {TokenRange{0, 2}, TokenRange{16, 16}, TokenRange{512, 512}}) {
        NumpyGenerator generator(0);
        const auto moments = bucket_moments(model, noise_covariance(model), rotation, range, generator);
        // The plain sums subtract squares of paths of up to 200.
        EXPECT_LT(largest_difference(moments, summed(model, rotation, range)), 1e-8)
            << "bucket of " << range.count << ", rotated: " << rotation.has_value();
      }
    }
  }
}

TEST(QueryMoments, OfALargeBucketComeFromAPartOfIt) {
  HeadModel model = model_with(0);
  model.slope.assign(dim, 0.0);
  const std::optional<Rotation> rotation = some_rotation;
  const TokenRange range{8192, 8192};
  NumpyGenerator generator(0);
  const auto moments = bucket_moments(model, noise_covariance(model), rotation, range, generator);
  // The path is 2 sqrt(6) long, so a product of two of its components is below 24. Rotated, its deviation over the
  // bucket is at most 24 / sqrt(8), and the deviation of a mean of 1024 is 0.27.
  const double difference = largest_difference(moments, summed(model, rotation, range));
  EXPECT_LT(difference, 4 * 0.27);
  EXPECT_GT(difference, 0) << "all positions were summed";
}

}  // namespace
}  // namespace attention_plasticity

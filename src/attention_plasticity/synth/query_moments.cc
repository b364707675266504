#include "attention_plasticity/synth/query_moments.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>

namespace attention_plasticity {
namespace {

using Complex = std::complex<double>;

constexpr std::uint64_t most_positions = 1024;

// The mean of exp(i frequency t) over the range, which is a geometric sum (Dirichlet's kernel). |frequency| <= 2.
Complex mean_phase(double frequency, TokenRange range) {
  const auto count = static_cast<double>(range.count);
  const double half = frequency / 2;
  const double length = half == 0 ? 1.0 : std::sin(count * half) / (count * std::sin(half));
  return std::polar(1.0, frequency * range.mean()) * length;
}

struct Pair {
  std::size_t x;
  std::size_t y;
  double frequency;
};

// All components by pairs. Those that are not rotated form pairs of frequency 0; their number is even.
std::vector<Pair> pairs_of(const Rotation& rotation, std::size_t dim) {
  std::vector<Pair> pairs;
  pairs.reserve(dim / 2);
  const bool half = rotation.layout == RotaryLayout::half;
  const std::size_t rotated = rotation.frequency.size();
  for (std::size_t i = 0; i < rotated; ++i) {
    const std::size_t x = rotation.first + (half ? i : 2 * i);
    pairs.push_back({x, x + (half ? rotated : 1), rotation.frequency[i]});
  }
  std::vector<std::size_t> others;
  for (std::size_t c = 0; c < dim; ++c) {
    if (c < rotation.first || c >= rotation.first + rotation.dim()) others.push_back(c);
  }
  for (std::size_t i = 0; i + 1 < others.size(); i += 2) pairs.push_back({others[i], others[i + 1], 0});
  return pairs;
}

// The mean of R(t) covariance R(t)' over the range. With z_a = x_a + i y_a of pair a, R(t) multiplies z_a by
// exp(i f_a t). So E[z_a conj(z_b)] rotates with the difference of two frequencies, and E[z_a z_b] with their sum.
Matrix mean_of_rotated(const Matrix& covariance, const std::vector<Pair>& pairs, TokenRange range) {
  Matrix rotated(covariance.rows(), covariance.cols());
  for (const Pair& a : pairs) {
    const std::span<const double> xa = covariance.row(a.x);
    const std::span<const double> ya = covariance.row(a.y);
    for (const Pair& b : pairs) {
      const Complex with_conjugate(xa[b.x] + ya[b.y], ya[b.x] - xa[b.y]);
      const Complex plain(xa[b.x] - ya[b.y], ya[b.x] + xa[b.y]);
      const Complex p = with_conjugate * mean_phase(a.frequency - b.frequency, range);
      const Complex c = plain * mean_phase(a.frequency + b.frequency, range);
      rotated.row(a.x)[b.x] = (p.real() + c.real()) / 2;
      rotated.row(a.y)[b.y] = (p.real() - c.real()) / 2;
      rotated.row(a.y)[b.x] = (p.imag() + c.imag()) / 2;
      rotated.row(a.x)[b.y] = (c.imag() - p.imag()) / 2;
    }
  }
  return rotated;
}

std::vector<double> representative_positions(TokenRange range, NumpyGenerator& generator) {
  const std::uint64_t parts = std::min(range.count, most_positions);
  std::vector<double> positions(parts);
  for (std::uint64_t i = 0; i < parts; ++i) {
    const std::uint64_t begin = range.count * i / parts;
    const std::uint64_t end = range.count * (i + 1) / parts;
    positions[i] = static_cast<double>(range.first + begin + generator.integers(end - begin));
  }
  return positions;
}

std::vector<double> path_at(const HeadModel& model, double position) {
  std::vector<double> path(model.dim());
  for (std::size_t c = 0; c < path.size(); ++c) path[c] = model.mean[c] + model.slope[c] * position;
  return path;
}

void add_outer_product(Matrix& sum, std::span<const double> vector, double weight) {
  for (std::size_t a = 0; a < vector.size(); ++a) {
    const double scaled = weight * vector[a];
    const std::span<double> row = sum.row(a);
    for (std::size_t b = 0; b < vector.size(); ++b) row[b] += scaled * vector[b];
  }
}

// Returns the mean of the path, and adds its covariance to `covariance`.
std::vector<double> add_straight_path(const HeadModel& model, TokenRange range, Matrix& covariance) {
  const auto count = static_cast<double>(range.count);
  add_outer_product(covariance, model.slope, (count * count - 1) / 12);
  return path_at(model, range.mean());
}

std::vector<double> add_rotated_path(const HeadModel& model, const Rotation& rotation, TokenRange range,
                                     NumpyGenerator& generator, Matrix& covariance) {
  const std::vector<double> positions = representative_positions(range, generator);
  const auto count = static_cast<double>(positions.size());
  std::vector<double> mean(model.dim());
  Matrix paths(positions.size(), model.dim());
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const std::span<double> path = paths.row(i);
    std::ranges::copy(path_at(model, positions[i]), path.begin());
    rotation.rotate(path, positions[i]);
    for (std::size_t c = 0; c < path.size(); ++c) mean[c] += path[c] / count;
  }
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const std::span<double> path = paths.row(i);
    for (std::size_t c = 0; c < path.size(); ++c) path[c] -= mean[c];
    add_outer_product(covariance, path, 1 / count);
  }
  return mean;
}

}  // namespace

QueryMoments bucket_moments(const HeadModel& model, const Matrix& noise, const std::optional<Rotation>& rotation,
                            TokenRange range, NumpyGenerator& generator) {
  QueryMoments moments;
  moments.covariance = rotation ? mean_of_rotated(noise, pairs_of(*rotation, model.dim()), range) : noise;
  const double with_effects = 1 + model.effect * model.effect;
  for (std::size_t a = 0; a < model.dim(); ++a) {
    for (double& entry : moments.covariance.row(a)) entry *= with_effects;
  }
  moments.mean = rotation ? add_rotated_path(model, *rotation, range, generator, moments.covariance)
                          : add_straight_path(model, range, moments.covariance);
  return moments;
}

}  // namespace attention_plasticity

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

// The mean of R(t) covariance R(t)' over the range. With z_a = x_a + i x_(a + half), R(t) multiplies z_a by exp(i f_a
// t). So E[z_a conj(z_b)] rotates with the difference of two frequencies, and E[z_a z_b] with their sum.
Matrix mean_of_rotated(const Matrix& covariance, std::span<const double> frequencies, TokenRange range) {
  const std::size_t half = frequencies.size();
  Matrix rotated(covariance.rows(), covariance.cols());
  for (std::size_t a = 0; a < half; ++a) {
    const std::span<const double> xa = covariance.row(a);
    const std::span<const double> ya = covariance.row(a + half);
    for (std::size_t b = 0; b < half; ++b) {
      const Complex with_conjugate(xa[b] + ya[b + half], ya[b] - xa[b + half]);
      const Complex plain(xa[b] - ya[b + half], ya[b] + xa[b + half]);
      const Complex p = with_conjugate * mean_phase(frequencies[a] - frequencies[b], range);
      const Complex c = plain * mean_phase(frequencies[a] + frequencies[b], range);
      rotated.row(a)[b] = (p.real() + c.real()) / 2;
      rotated.row(a + half)[b + half] = (p.real() - c.real()) / 2;
      rotated.row(a + half)[b] = (p.imag() + c.imag()) / 2;
      rotated.row(a)[b + half] = (c.imag() - p.imag()) / 2;
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
  moments.covariance = rotation ? mean_of_rotated(noise, rotation->frequency, range) : noise;
  const double with_effects = 1 + model.effect * model.effect;
  for (std::size_t a = 0; a < model.dim(); ++a) {
    for (double& entry : moments.covariance.row(a)) entry *= with_effects;
  }
  moments.mean = rotation ? add_rotated_path(model, *rotation, range, generator, moments.covariance)
                          : add_straight_path(model, range, moments.covariance);
  return moments;
}

}  // namespace attention_plasticity

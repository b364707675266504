#include "attention_plasticity/synth/head_model.h"

#include <cmath>
#include <numeric>
#include <span>

#include "attention_plasticity/synth/axes.h"
#include "attention_plasticity/synth/context.h"
#include "attention_plasticity/synth/normal_source.h"
#include "attention_plasticity/synth/streams.h"

namespace attention_plasticity {
namespace {

std::vector<double> falling_eigenvalues(std::size_t dim, double spectrum) {
  std::vector<double> values(dim);
  for (std::size_t i = 0; i < dim; ++i) values[i] = std::pow(static_cast<double>(i + 1), -spectrum);
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(dim);
  for (double& value : values) value /= mean;
  return values;
}

std::vector<double> random_direction(std::size_t dim, double length, NormalSource& normals) {
  std::vector<double> vector(dim);
  for (double& component : vector) component = normals.next();
  const double norm = std::sqrt(std::inner_product(vector.begin(), vector.end(), vector.begin(), 0.0));
  for (double& component : vector) component *= length / norm;
  return vector;
}

}  // namespace

HeadModel make_head_model(const SynthOptions& options, Side side, HeadNumber head) {
  const std::size_t dim = options.dim;
  HeadModel model;
  model.eigenvalues = falling_eigenvalues(dim, options.spectrum);
  model.axes_seed = stream_seed(truth_seed(options), side, head, Stream::axes);
  if (options.spectrum > 0) {
    NumpyGenerator generator = stream_generator(truth_seed(options), side, head, Stream::axes);
    model.axes = random_axes(dim, generator);
  }
  if (side == Side::key) {
    model.mean.assign(dim, 0.0);
    model.slope.assign(dim, 0.0);
    return model;
  }
  NormalSource normals(stream_generator(truth_seed(options), side, head, Stream::path));
  const double unit = std::sqrt(static_cast<double>(dim));
  model.mean = random_direction(dim, options.mean * unit, normals);
  model.slope = random_direction(dim, options.slope * unit / static_cast<double>(Context(options).tokens()), normals);
  model.effect = options.example_effect;
  return model;
}

Matrix noise_covariance(const HeadModel& model) {
  const std::size_t dim = model.dim();
  Matrix covariance(dim, dim);
  if (model.axes.rows() == 0) {
    for (std::size_t i = 0; i < dim; ++i) covariance.row(i)[i] = model.eigenvalues[i];
    return covariance;
  }
  for (std::size_t i = 0; i < dim; ++i) {
    const std::span<const double> axis = model.axes.row(i);
    for (std::size_t a = 0; a < dim; ++a) {
      const double scaled = model.eigenvalues[i] * axis[a];
      const std::span<double> row = covariance.row(a);
      for (std::size_t b = 0; b < dim; ++b) row[b] += scaled * axis[b];
    }
  }
  return covariance;
}

}  // namespace attention_plasticity

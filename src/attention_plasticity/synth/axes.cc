#include "attention_plasticity/synth/axes.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <span>

namespace attention_plasticity {
namespace {

double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

void remove_earlier_axes(Matrix& axes, std::size_t i) {
  const std::span<double> axis = axes.row(i);
  for (std::size_t earlier = 0; earlier < i; ++earlier) {
    const std::span<const double> other = axes.row(earlier);
    const double share = dot(axis, other);
    std::ranges::transform(axis, other, axis.begin(), [share](double x, double y) { return x - share * y; });
  }
}

}  // namespace

Matrix random_axes(std::size_t dim, NumpyGenerator& generator) {
  Matrix axes(dim, dim);
  for (std::size_t i = 0; i < dim; ++i) {
    for (double& component : axes.row(i)) {
      const double radius = std::sqrt(-2.0 * std::log1p(-generator.random()));
      component = radius * std::cos(2.0 * std::numbers::pi * generator.random());
    }
  }
  for (std::size_t i = 0; i < dim; ++i) {
    // Done twice, because one pass loses digits when little of a row is left (Giraud, Langou & Rozloznik 2005).
    remove_earlier_axes(axes, i);
    remove_earlier_axes(axes, i);
    const std::span<double> axis = axes.row(i);
    const double length = std::sqrt(dot(axis, axis));
    for (double& component : axis) component /= length;
  }
  return axes;
}

}  // namespace attention_plasticity

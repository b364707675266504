#include "attention_plasticity/synth/gaussian_plasticity.h"

#include <cmath>
#include <numbers>
#include <vector>

namespace attention_plasticity {
namespace {

double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

}  // namespace

double gaussian_plasticity(const QueryMoments& queries, std::span<const float> w) {
  const std::size_t dim = w.size();
  std::vector<double> product(dim);  // covariance w
  double m = 0;
  for (std::size_t a = 0; a < dim; ++a) {
    const double component = w[a];
    const std::span<const double> row = queries.covariance.row(a);
    for (std::size_t b = 0; b < dim; ++b) product[b] += component * row[b];
    m += component * queries.mean[a];
  }
  double v = 0;
  for (std::size_t a = 0; a < dim; ++a) v += w[a] * product[a];
  const double z = m / std::sqrt(v);
  return 4 * normal_cdf(z) * normal_cdf(-z);
}

}  // namespace attention_plasticity

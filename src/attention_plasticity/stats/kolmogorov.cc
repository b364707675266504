#include "attention_plasticity/stats/kolmogorov.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

// The regimes follow Simard & L'Ecuyer, "Computing the two-sided Kolmogorov-Smirnov distribution" (J. Stat. Softw.
// 39(11), 2011): closed forms at both ends, Durbin's matrix for a narrow band, twice the one-sided tail for small
// probabilities. Between these they use Pomeranz's recursion, which is slow for large n, and the expansion of Pelz &
// Good, which has 5 digits at n = 141. Here a sum of residues takes their place; it is exact for practical purposes and
// costs microseconds at any n.
//
// In all functions n is the size of the sample, d the distance, c = n d half the width of the band in steps of the
// empirical distribution, and z^2 = n d^2, which alone decides the probability for large n.

namespace attention_plasticity {
namespace {

using std::numbers::pi;

/// log(n!) - log(sqrt(2 pi n) (n / e)^n), the error of Stirling's formula, for whole n >= 1.
double stirling_error(double n) {
  constexpr std::array<double, 16> factorial{
      1.0,     1.0,      2.0,       6.0,        24.0,        120.0,        720.0,         5040.0,
      40320.0, 362880.0, 3628800.0, 39916800.0, 479001600.0, 6227020800.0, 87178291200.0, 1307674368000.0};
  if (n < 16.0) {
    return std::log(factorial[static_cast<std::size_t>(n)]) - (n + 0.5) * std::log(n) + n - 0.5 * std::log(2.0 * pi);
  }
  const double s = 1.0 / (n * n);
  return (1.0 / 12.0 - s * (1.0 / 360.0 - s * (1.0 / 1260.0 - s * (1.0 / 1680.0 - s / 1188.0)))) / n;
}

/// n! e^n / n^n, the reciprocal of the probability that a Poisson variable with mean n equals n.
double poisson_norm(double n) { return std::sqrt(2.0 * pi * n) * std::exp(stirling_error(n)); }

/// log(1 + y) - y for y >= -1, without the cancellation near 0.
double log1p_minus_self(double y) {
  if (std::abs(y) > 0.25) return std::log1p(y) - y;
  // log(1 + y) = 2 artanh(r) = 2 r + 2 r^3 (1/3 + r^2/5 + ...), and 2 r - y = -r y.
  const double r = y / (2.0 + y);
  const double s = r * r;
  double series = 0.0;
  for (int k = 19; k >= 3; k -= 2) series = series * s + 1.0 / k;
  return r * (2.0 * s * series - y);
}

/// left * right, where right is m x m and left has any number of rows of m entries.
std::vector<double> product(const std::vector<double>& left, const std::vector<double>& right, std::size_t m) {
  std::vector<double> result(left.size(), 0.0);
  for (std::size_t row = 0; row < left.size(); row += m) {
    for (std::size_t inner = 0; inner < m; ++inner) {
      const double factor = left[row + inner];
      for (std::size_t column = 0; column < m; ++column) result[row + column] += factor * right[inner * m + column];
    }
  }
  return result;
}

/// H / e for the matrix H of order m = 2k - 1 (Durbin 1973, in the form of Marsaglia, Tsang & Wang 2003). With
/// 0 <= h < 1 and o = row - column + 1, its entries are 1/o! for o >= 0. h^o/o! is subtracted in the first column and
/// in the last row, and (2h - 1)^m/m! is added in the corner where they meet if 2h > 1. All entries are >= 0, so
/// nothing cancels in its powers.
std::vector<double> durbin_matrix(std::size_t m, double h) {
  std::vector<double> reciprocal_factorial(m + 1, 1.0);
  std::vector<double> power(m + 1, 1.0);
  for (std::size_t order = 1; order <= m; ++order) {
    reciprocal_factorial[order] = reciprocal_factorial[order - 1] / static_cast<double>(order);
    power[order] = power[order - 1] * h;
  }
  std::vector<double> matrix(m * m, 0.0);
  for (std::size_t row = 0; row < m; ++row) {
    const bool last_row = row == m - 1;
    for (std::size_t column = 0; column < std::min(row + 2, m); ++column) {
      const std::size_t order = row + 1 - column;
      double entry = 1.0;
      if (column == 0) entry -= power[order];
      if (last_row) entry -= power[order];
      if (column == 0 && last_row) entry += std::pow(std::max(0.0, 2.0 * h - 1.0), static_cast<double>(m));
      matrix[row * m + column] = entry * reciprocal_factorial[order] / std::numbers::e;
    }
  }
  return matrix;
}

/// P(D_n < d) = n!/n^n (H^n)_kk, k = ceil(c), h = k - c. O(c^3 log n).
///
/// For c <= 1 the matrix is one number, and this is the closed form n! (2 d - 1/n)^n of Ruben & Gambino (1982).
///
/// The largest eigenvalue of H is below e and tends to it as the band widens, so the powers of H / e stay in range.
double narrow_band_cdf(std::size_t n, double c) {
  const double upper = std::ceil(c);
  const auto k = static_cast<std::size_t>(upper);
  const std::size_t m = 2 * k - 1;
  std::vector<double> power_of_two = durbin_matrix(m, upper - c);
  std::vector<double> row(m, 0.0);
  row[k - 1] = 1.0;
  for (std::size_t digits = n; digits != 0; digits /= 2) {
    if (digits % 2 == 1) row = product(row, power_of_two, m);
    if (digits > 1) power_of_two = product(power_of_two, power_of_two, m);
  }
  return row[k - 1] * poisson_norm(static_cast<double>(n));
}

/// Functions of an angle 0 < theta < pi for the wide-band formula, to full relative accuracy.
struct AngleTerms {
  double w;         ///< 1 - theta cot theta, about theta^2 / 3
  double log_e_xi;  ///< w + log(theta / sin theta), about theta^2 / 2
};

AngleTerms angle_terms(double theta) {
  if (theta > 0.75) {
    const double w = 1.0 - theta / std::tan(theta);
    return {w, w + std::log(theta / std::sin(theta))};
  }
  // w = 2 sum_k zeta(2k) r^k and log(theta / sin theta) = sum_k zeta(2k) r^k / k with r = (theta / pi)^2. In
  // zeta = 1 + (zeta - 1), the terms of 1 have a closed sum, and the terms of zeta - 1 fall as (r / 4)^k.
  constexpr std::array<double, 10> zeta_minus_1{
      6.4493406684822643647e-1, 8.2323233711138191516e-2, 1.7343061984449139714e-2, 4.0773561979443393786e-3,
      9.9457512781808533715e-4, 2.4608655330804829863e-4, 6.1248135058704829259e-5, 1.5282259408651871733e-5,
      3.8172932649998398565e-6, 9.5396203387279611315e-7};
  const double r = (theta / pi) * (theta / pi);
  double w = 0.0;
  double logarithm = 0.0;
  for (std::size_t k = zeta_minus_1.size(); k >= 1; --k) {
    w = (w + 2.0 * zeta_minus_1[k - 1]) * r;
    logarithm = (logarithm + zeta_minus_1[k - 1] / static_cast<double>(k)) * r;
  }
  w += 2.0 * r / (1.0 - r);
  logarithm -= std::log1p(-r);
  return {w, w + logarithm};
}

/// P(D_n < d) for wide bands, from the generating function of Durbin's problem (Kemperman 1961, Durbin 1968),
///
///     sum_n n^n/n! P(D_n < c/n) xi^n = f(c)^2 / f(2c),    f(t) = sum_{j<t} (-xi)^j (t - j)^j / j!,
///
/// as the sum of its residues at the zeros xi of f(2c). Since f'(t) = -xi f(t - 1), f is a sum of exp(W t) / (1 + W)
/// over the branches of Lambert's W(-xi). For xi > 1/e the leading two branches are
///
///     W = -theta cot theta +- i theta,    xi = theta / sin(theta) exp(-theta cot theta),    0 < theta < pi,
///
/// and the next ones are smaller by exp(-2.09 t), which is negligible for c >= 14. The rest is elementary: the zeros
/// lie where 2c theta + arctan(w / theta) = j pi, with w = 1 - theta cot theta and j = 1, 2, ..., and for large n the
/// residues become Kolmogorov's series sqrt(2 pi) / z sum exp(-j^2 pi^2 / (8 z^2)) over odd j.
double wide_band_cdf(double n, double c) {
  constexpr double negligible_exponent = 45.0;
  double sum = 0.0;
  for (int j = 1; j < 2.0 * c; ++j) {
    double theta = j * pi / (2.0 * c + 1.0 / 3.0);
    AngleTerms terms{};
    double slope = 0.0;
    // Newton's method. The start has an error of O(theta^3), and the third step no longer changes theta.
    for (int step = 0; step < 4; ++step) {
      terms = angle_terms(theta);
      slope = 2.0 * c - (terms.w * (2.0 - terms.w) - theta * theta) / (terms.w * terms.w + theta * theta);
      theta -= (2.0 * c * theta + std::atan(terms.w / theta) - j * pi) / slope;
    }
    const double exponent = n * terms.log_e_xi;
    if (exponent > negligible_exponent) break;
    const double modulus = std::hypot(terms.w, theta);
    // For even j this is theta - modulus without cancellation.
    const double amplitude = j % 2 == 1 ? modulus + theta : -terms.w * terms.w / (modulus + theta);
    sum += amplitude / (theta * slope) * std::exp(-exponent);
  }
  return sum * poisson_norm(n);
}

/// P(D+ >= d) of the one-sided statistic, by Smirnov's (1944) sum of positive terms
///
///     d sum_j C(n, j) (d + j/n)^(j-1) (1 - d - j/n)^(n-j),    0 <= j <= n (1 - d).
///
/// A term is the binomial probability C(n, j) x^j (1 - x)^(n-j) at x = j/n, from Stirling's formula, times an
/// exponential. Both parts of its exponent are negative, so no digits cancel (as in Loader 2000 for the binomial).
double one_sided_survival(std::size_t count, double d) {
  const auto n = static_cast<double>(count);
  // The sum, and so each term, is at most exp(-2 z^2) (Massart 1990). This factor is taken out to keep the terms in
  // range.
  const double bound = 2.0 * n * d * d;
  if (bound > 750.0) return 0.0;
  const double log_norm = stirling_error(n) + bound;
  const auto term = [&](std::size_t index) {
    const auto j = static_cast<double>(index);
    const double x = j / n;
    const double y = (n - j) / n;
    const double exponent = j * log1p_minus_self(d / x) + (n - j) * log1p_minus_self(-std::min(1.0, d / y));
    const double log_factor = log_norm - stirling_error(j) - stirling_error(n - j);
    return d / (d + x) * std::exp(exponent + log_factor) / std::sqrt(2.0 * pi * n * x * y);
  };
  const std::size_t last = std::min(static_cast<std::size_t>(n * (1.0 - d)), count - 1);

  // As a function of j the term is a smooth bump whose width is 1 / (4 z) of the range of j, and which vanishes with
  // all its derivatives at both ends. The trapezoidal rule then gives all digits with few nodes: for large n only every
  // stride-th term is summed, from the middle outwards until terms are negligible.
  constexpr std::size_t large = 1000;
  double sum = 0.0;
  std::size_t stride = 1;
  if (count < large || d >= 0.5) {
    sum = std::exp(n * std::log1p(-d) + bound);
    for (std::size_t index = 1; index <= last; ++index) sum += term(index);
  } else {
    stride = static_cast<std::size_t>(n / std::max(72.0, 12.0 * std::sqrt(n) * d));
    const auto counts = [&](double value) {
      sum += value;
      return value > 1e-18 * sum;
    };
    const std::size_t middle = last / 2;
    for (std::size_t index = middle; index <= last && counts(term(index)); index += stride) continue;
    for (std::size_t index = middle; index > stride && counts(term(index - stride)); index -= stride) continue;
  }
  return sum * static_cast<double>(stride) * std::exp(-bound);
}

}  // namespace

double kolmogorov_survival(std::size_t n, double distance) {
  if (std::isnan(distance)) return distance;
  const auto size = static_cast<double>(n);
  const double c = size * distance;
  const double z_squared = c * distance;

  // Closed forms at both ends (Ruben & Gambino 1982).
  if (c <= 0.5) return 1.0;
  if (distance >= 1.0) return 0.0;
  if (c >= size - 1.0) return 2.0 * std::pow(1.0 - distance, size);

  // Twice the one-sided tail. It is exact from d = 1/2 on, where a path cannot leave the band on both sides. Elsewhere
  // it is too large by a relative exp(-6 z^2), which at this border is as much as 1 - cdf loses to cancellation.
  if (distance >= 0.5 || z_squared >= 4.4) return std::min(1.0, 2.0 * one_sided_survival(n, distance));

  // The leading term of the cdf is about exp(-pi^2 n / (8 (c + 1/6)^2)), which is below 1e-18 here.
  if ((c + 1.0 / 6.0) * (c + 1.0 / 6.0) < 0.027 * size) return 1.0;
  const double cdf = c < 14.0 ? narrow_band_cdf(n, c) : wide_band_cdf(size, c);
  return std::clamp(1.0 - cdf, 0.0, 1.0);
}

}  // namespace attention_plasticity

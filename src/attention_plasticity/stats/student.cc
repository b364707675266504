#include "attention_plasticity/stats/student.h"

#include <cmath>
#include <limits>

namespace attention_plasticity {
namespace {

// The continued fraction of I_x(a, b), by the modified method of Lentz. It converges fast for x < (a + 1) / (a + b +
// 2).
double beta_fraction(double a, double b, double x) {
  constexpr double tiny = 1e-300;
  constexpr double precision = 1e-16;
  const auto away_from_zero = [](double value) { return std::abs(value) < tiny ? tiny : value; };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double fraction = d;
  const auto extend = [&](double numerator) {
    d = 1 / away_from_zero(1 + numerator * d);
    c = away_from_zero(1 + numerator / c);
    fraction *= c * d;
  };
  for (int step = 1; step < 1000; ++step) {
    const double m = step;
    extend(m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)));
    extend(-(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)));
    if (std::abs(c * d - 1) < precision) break;
  }
  return fraction;
}

// x^a (1 - x)^b / (a B(a, b)) times the fraction, with 1 - x given as y, since it may be tiny.
double beta_tail(double a, double b, double x, double y) {
  const double log_beta = std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b);
  return std::exp(a * std::log(x) + b * std::log(y) - log_beta) / a * beta_fraction(a, b, x);
}

}  // namespace

double student_p(double t, double degrees) {
  if (std::isnan(t) || std::isnan(degrees)) return std::numeric_limits<double>::quiet_NaN();
  if (std::isinf(t)) return 0;
  if (t == 0) return 1;
  const double a = degrees / 2;
  const double b = 0.5;
  // x and y = 1 - x, both without cancellation; t² may overflow.
  const double ratio = t / degrees * t;
  const double x = 1 / (1 + ratio);
  const double y = std::isinf(ratio) ? 1 : ratio / (1 + ratio);
  if (x == 0) return 0;
  if (x < (a + 1) / (a + b + 2)) return beta_tail(a, b, x, y);
  return 1 - beta_tail(b, a, y, x);
}

}  // namespace attention_plasticity

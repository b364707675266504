#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace attention_plasticity {

/// The least-squares lines x_i = intercept_i + slope_i t of every component i on one common t.
struct LineFit {
  std::vector<double> intercept;
  std::vector<double> slope;              ///< 0 where t has no spread
  std::vector<double> r_squared;          ///< 1 - ss_res / max(ss_tot, 1e-12), at most 1; 0 where t has no spread
  std::vector<double> residual_variance;  ///< ss_res / (n - 1); 1 for a single row
};

/// What R² is for a component without any spread, where the ratio says nothing.
enum class ConstantComponent { has_no_fit, fits };  // 0 or 1

/// Centred sums of a sample of (t, x), from which the lines follow.
struct LineSums {
  std::size_t count = 0;
  double mean_t = 0;
  double tt = 0;  ///< sum of (t - mean)^2
  std::vector<double> mean;
  std::vector<double> tx;  ///< sum of (t - mean)(x - mean)
  std::vector<double> xx;  ///< sum of (x - mean)^2; exactly 0 for a component whose values are all equal
};

/// At least one row.
LineFit fit_lines(const LineSums& sums, ConstantComponent constant = ConstantComponent::has_no_fit);

/// LineSums of rows that come one by one; merging two gives the sums of both samples in any split.
///
/// Running means and centred products (Welford; Chan, Golub & LeVeque 1983): a plain sum of squares loses half of its
/// digits in LineMoments.KeepsDigitsFarFromZero.
class LineMoments {
 public:
  explicit LineMoments(std::size_t components);

  void add(double t, std::span<const double> x);
  void merge(const LineMoments& other);
  /// At least one row.
  LineFit finish(ConstantComponent constant = ConstantComponent::has_no_fit) const {
    return fit_lines(sums_, constant);
  }

 private:
  LineSums sums_;
};

/// LineSums of float rows, one after the other, each of `width` components; t has one entry for each row. At least one
/// row. The same digits as LineMoments keeps, many times as fast.
LineSums sum_rows(std::span<const double> t, std::span<const float> rows, std::size_t width);

}  // namespace attention_plasticity

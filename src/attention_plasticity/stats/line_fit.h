#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace attention_plasticity {

/// The least-squares lines x_i = intercept_i + slope_i (t - origin), one for each component i, on a common t.
struct LineFit {
  std::vector<double> intercept;
  std::vector<double> slope;              ///< 0 if t has no spread
  std::vector<double> r_squared;          ///< 1 - ss_res / max(ss_tot, 1e-12), at most 1; 0 if t has no spread
  std::vector<double> residual_variance;  ///< ss_res / (n - 1); 1 for a single row
  double origin = 0;                      ///< that of the sums
};

/// Where to count t from: 0, or the smallest t where all lie further from 0 than 1024 times their range. There, slope t
/// would leave few digits to the sum, and a mean of t would be rounded to 1e-4 near 2^40
/// (ProgramAttack.PositionsFarFromZeroChangeOnlyTheLogarithm). t - origin is exact.
double line_origin(std::span<const double> t);

/// The R² of a component without spread, for which the ratio says nothing: 0 (has_no_fit) or 1 (fits).
enum class ConstantComponent { has_no_fit, fits };

/// Centred sums over a sample of (t, x), from which the lines are computed.
struct LineSums {
  std::size_t count = 0;
  double mean_t = 0;  ///< counted from `origin`
  double tt = 0;      ///< sum of (t - mean)^2
  std::vector<double> mean;
  std::vector<double> tx;  ///< sum of (t - mean)(x - mean)
  std::vector<double> xx;  ///< sum of (x - mean)^2; exactly 0 if all values of the component are equal
  double origin = 0;
};

/// The sum of |x|^2 over all rows.
double energy_of(const LineSums& sums);

/// There must be at least one row.
LineFit fit_lines(const LineSums& sums, ConstantComponent constant = ConstantComponent::has_no_fit);

/// LineSums of rows that are added one by one. Merging two of them, of one origin, gives the sums of both samples,
/// however the rows are split.
///
/// Uses running means and centred products (Welford; Chan, Golub & LeVeque 1983), because a plain sum of squares loses
/// half of its digits in LineMoments.KeepsDigitsFarFromZero.
class LineMoments {
 public:
  explicit LineMoments(std::size_t components, double origin = 0);

  void add(double t, std::span<const double> x);
  void merge(const LineMoments& other);
  /// There must be at least one row.
  LineFit finish(ConstantComponent constant = ConstantComponent::has_no_fit) const {
    return fit_lines(sums_, constant);
  }

 private:
  LineSums sums_;
};

/// LineSums of consecutive float rows of `width` components, with the line_origin() of t. t has one entry for each row,
/// and there must be at least one row. As accurate as LineMoments, and many times faster.
LineSums sum_rows(std::span<const double> t, std::span<const float> rows, std::size_t width);

}  // namespace attention_plasticity

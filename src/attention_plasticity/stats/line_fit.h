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

/// Sums of (t, x) from which the lines follow; merging two gives the sums of both samples in any split.
///
/// Running means and centred products (Welford; Chan, Golub & LeVeque 1983): a plain sum of squares loses half of its
/// digits in LineMoments.KeepsDigitsFarFromZero. A component whose values are all equal has centred sums of exactly 0.
class LineMoments {
 public:
  explicit LineMoments(std::size_t components);

  void add(double t, std::span<const double> x);
  void merge(const LineMoments& other);
  /// At least one row.
  LineFit finish(ConstantComponent constant = ConstantComponent::has_no_fit) const;

  std::size_t count() const { return count_; }
  double spread_t() const { return tt_; }  ///< sum of (t - mean)^2

 private:
  std::size_t count_ = 0;
  double mean_t_ = 0;
  double tt_ = 0;  // sum of (t - mean)^2
  std::vector<double> mean_;
  std::vector<double> tx_;  // sum of (t - mean)(x - mean)
  std::vector<double> xx_;  // sum of (x - mean)^2
};

}  // namespace attention_plasticity

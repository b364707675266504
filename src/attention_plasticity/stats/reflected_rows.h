#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "attention_plasticity/base/matrix.h"
#include "attention_plasticity/stats/householder.h"
#include "attention_plasticity/stats/shape.h"

namespace attention_plasticity {

/// The components of reflected rows, each minus its mean.
class ReflectedColumns {
 public:
  ReflectedColumns(std::size_t rows, const std::vector<bool>& coded);

  std::vector<PowerSums> sums;
  /// For each component. The code of a value y is y * codes_per_unit + 32768, truncated to a whole number and clamped
  /// to 16 bits. A standard deviation is about 4096 codes.
  std::vector<double> codes_per_unit;
  /// The codes of a coded component, one per row.
  std::span<std::uint16_t> codes(std::size_t component);
  std::span<const std::uint16_t> codes(std::size_t component) const;

 private:
  std::size_t rows_;
  std::size_t stride_;
  // Index of each component (rounded up to whole tiles) among the coded ones; those not coded share the last.
  std::vector<std::size_t> place_;
  std::unique_ptr<std::uint16_t[]> codes_;
};

/// Float rows x seen as (x ∘ sign) H, where the reflection H sends the rows' slope on position to the first axis. The
/// reflected rows are not stored: one pass over the rows computes what is kept of them.
class ReflectedRows {
 public:
  /// `rows` holds one row after the other, each as wide as `sign`; the object refers to it. `mean` is the mean of the
  /// reflected rows, up to rounding. The components marked in `coded` get codes.
  ReflectedRows(std::span<const float> rows, std::span<const double> sign, const Householder& reflection,
                std::span<const double> mean, const std::vector<bool>& coded);

  std::size_t size() const { return reflected_.size(); }
  std::size_t width() const { return sign_.size(); }

  /// (x ∘ sign)·beta / |beta| of each row, its part along the slope beta; empty for a slope of 0.
  const std::vector<double>& along_slope() const { return along_slope_; }
  /// The first reflected component of each row: along_slope() unless H is the identity.
  std::vector<double> first_component() const;
  double value(std::size_t row, std::size_t component) const {
    return static_cast<double>(rows_[row * width() + component]) * sign_[component] -
           reflected_[row] * twice_axis_[component];
  }

  /// The squared rounding error of value(row, component), relative to |x|²; 0 where the reflection leaves a component
  /// as it is.
  double rounding(std::size_t component) const;

  std::span<const double> mean() const { return mean_; }
  const ReflectedColumns& columns() const { return columns_; }

 private:
  void project(std::size_t row, std::size_t count);
  void choose_codes();
  void sum_columns(const std::vector<bool>& coded);

  std::span<const float> rows_;
  std::vector<double> sign_;
  std::vector<double> mean_;
  std::vector<double> twice_axis_;  // 2 u, or zeros
  std::vector<double> across_;      // u ∘ sign, or zeros: its product with a captured row is that with the oriented one
  std::vector<double> along_;       // beta / |beta| ∘ sign, or empty
  std::vector<double> reflected_;   // (x ∘ sign)·u of each row
  std::vector<double> along_slope_;
  ReflectedColumns columns_;
};

}  // namespace attention_plasticity

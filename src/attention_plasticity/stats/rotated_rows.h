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

/// The components of rotated rows, each less its mean.
class RotatedColumns {
 public:
  RotatedColumns(std::size_t rows, const std::vector<bool>& coded);

  std::vector<PowerSums> sums;
  /// A value y has the code y * codes_per_unit + 32768, cut to a whole number and to 16 bits. A deviation is some 4096
  /// codes.
  std::vector<double> codes_per_unit;
  /// Of a coded component, row after row.
  std::span<std::uint16_t> codes(std::size_t component);
  std::span<const std::uint16_t> codes(std::size_t component) const;

 private:
  std::size_t rows_;
  std::size_t stride_;
  std::vector<std::size_t> place_;  // of each column of whole tiles among those coded; the others share the last
  std::unique_ptr<std::uint16_t[]> codes_;
};

/// Float rows x seen as (x ∘ sign) H, H being the reflection that sends a slope beta to the first axis. Rotated rows
/// are not stored: what is kept of them comes from one pass over the rows.
class RotatedRows {
 public:
  /// Rows one after the other, each with an entry for every component of `sign` and `slope`. Refers to `rows`. `mean`
  /// is that of the rotated rows, but for rounding; the components marked in `coded` are coded.
  RotatedRows(std::span<const float> rows, std::span<const double> sign, std::span<const double> slope,
              std::span<const double> mean, const std::vector<bool>& coded);

  std::size_t size() const { return reflected_.size(); }
  std::size_t width() const { return sign_.size(); }

  /// Of each row, its part along the slope, (x ∘ sign)·beta / |beta|; empty for a slope of 0.
  const std::vector<double>& along_slope() const { return along_slope_; }
  /// Of each row, the first component: its part along the slope unless H is the identity.
  std::vector<double> first_component() const;
  double value(std::size_t row, std::size_t component) const {
    return static_cast<double>(rows_[row * width() + component]) * sign_[component] -
           reflected_[row] * twice_axis_[component];
  }

  std::span<const double> mean() const { return mean_; }
  const RotatedColumns& columns() const { return columns_; }

 private:
  void project(std::size_t row, std::size_t count);
  void choose_codes();
  void sum_columns(const std::vector<bool>& coded);

  std::span<const float> rows_;
  std::vector<double> sign_;
  std::vector<double> mean_;
  std::vector<double> twice_axis_;  // 2 u, or zeros
  std::vector<double> across_;      // u ∘ sign, or zeros: rows need not be oriented to be projected
  std::vector<double> along_;       // of length 1 along the slope ∘ sign, or empty
  std::vector<double> reflected_;   // of each row, (x ∘ sign)·u
  std::vector<double> along_slope_;
  RotatedColumns columns_;
};

}  // namespace attention_plasticity

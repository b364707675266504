#pragma once

#include <cstddef>
#include <span>

#include "attention_plasticity/base/large_vector.h"

namespace attention_plasticity {

/// Count, mean and scatter matrix sum (x - mean)(x - mean)ᵀ of rows x that are added one by one.
///
/// Rows are gathered in blocks. Each block is centred on its own mean, and its distance to the mean so far is added as
/// one more row (Chan, Golub & LeVeque 1983). So the scatter is a sum of outer products, nothing is subtracted, and
/// equal rows give exactly 0. Means are kept as distances to the first row; otherwise they lose digits in
/// ScatterSum.KeepsDigitsFarFromZeroAndOfSmallComponents.
class ScatterSum {
 public:
  explicit ScatterSum(std::size_t width);

  /// Adds a row. The caller must fill the returned memory before any other call.
  std::span<double> add();
  /// Must be called before the results below are read.
  void finish();
  /// If there are at most `most` rows and they are in one block: finishes the mean but not the scatter, and returns the
  /// centred rows, stride() apart. Otherwise does nothing and returns null.
  const double* finish_rows(std::size_t most);
  /// Removes all rows.
  void clear();

  std::size_t count() const { return count_; }
  std::span<const double> mean() const { return {mean_.data(), width_}; }
  /// The scatter matrix, rows stride() apart; only the upper triangle is set.
  const double* scatter() const { return scatter_.data(); }
  std::size_t stride() const { return stride_; }

 private:
  void centre_block();

  std::size_t width_;
  std::size_t stride_;
  std::size_t count_ = 0;
  std::size_t in_block_ = 0;
  LargeVector<double> block_;
  LargeVector<double> origin_;       // the first row
  LargeVector<double> block_mean_;   // minus the origin
  LargeVector<double> from_origin_;  // the mean so far, minus the origin
  LargeVector<double> mean_;
  LargeVector<double> scatter_;
};

}  // namespace attention_plasticity

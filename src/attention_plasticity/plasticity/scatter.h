#pragma once

#include <cstddef>
#include <span>

#include "attention_plasticity/base/large_vector.h"

namespace attention_plasticity {

/// Count, mean and scatter matrix sum (x - mean)(x - mean)ᵀ of rows x, added one after the other.
///
/// Rows are gathered in blocks. Each block is centred on its own mean, and its distance to the mean so far enters as
/// one more row (Chan, Golub & LeVeque 1983), so the scatter is a sum of outer products and nothing else: nothing is
/// subtracted, and of equal rows it is exactly 0. Means are kept as distances to the first row: as such they have
/// digits that they lose in ScatterSum.KeepsDigitsFarFromZeroAndOfSmallComponents otherwise.
class ScatterSum {
 public:
  explicit ScatterSum(std::size_t width);

  /// Where the next row goes, for the caller to fill before any other call.
  std::span<double> add();
  /// All rows so far are in the results below.
  void finish();
  /// Where there are at most so many rows, and one block holds them: the mean, and the centred rows themselves,
  /// stride() apart, in place of the sums. Otherwise nothing is done, and null.
  const double* finish_rows(std::size_t most);
  /// As if no row had been added.
  void clear();

  std::size_t count() const { return count_; }
  std::span<const double> mean() const { return {mean_.data(), width_}; }
  /// Row after row, stride() apart, the upper triangle.
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
  LargeVector<double> block_mean_;   // less the origin
  LargeVector<double> from_origin_;  // the mean so far, less the origin
  LargeVector<double> mean_;
  LargeVector<double> scatter_;
};

}  // namespace attention_plasticity

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "attention_plasticity/base/large_vector.h"
#include "attention_plasticity/rotation.h"
#include "attention_plasticity/rows.h"

namespace attention_plasticity {

/// Rows of a head that show how its vectors were rotated (docs/method.md): rows floor(i n / m), i < m = min(n, 1024).
/// Rows at the same position are rotated alike, so only their sum is kept.
class RowSample {
 public:
  static constexpr std::size_t most_rows = 1024;

  explicit RowSample(const RowsView& rows);

  std::size_t width() const { return total_.size(); }
  std::size_t rows() const { return rows_; }
  double energy() const { return energy_ / static_cast<double>(rows_); }  ///< the mean of |v|^2
  /// Distinct positions, ascending, in tokens.
  const std::vector<double>& positions() const { return positions_; }
  /// The sum of the vectors at a position.
  std::span<const double> sum(std::size_t position) const { return {sums() + position * width(), width()}; }
  /// The sums, position after position, and at the end some zeros: vectors of 8 numbers may be read from any place.
  const double* sums() const { return sums_.data(); }
  /// The sum of all vectors.
  const std::vector<double>& total() const { return total_; }
  /// True if all positions are whole numbers of tokens below 2^31.
  bool has_whole_positions() const { return !whole_positions_.empty(); }
  /// The positions if all are whole numbers; otherwise empty.
  const std::vector<std::uint32_t>& whole_positions() const { return whole_positions_; }

  /// (|S|^2 - Q) / (m (m - 1)) for |S|^2 = `squared_sum` and Q the sum of |v|^2: unbiased for |E v|^2. Needs two rows.
  double fixed(double squared_sum) const;

 private:
  std::size_t rows_ = 0;
  double energy_ = 0;  // the sum of |v|^2
  std::vector<double> positions_;
  std::vector<std::uint32_t> whole_positions_;
  LargeVector<double> sums_;
  std::vector<double> total_;
};

/// cos(f t) and sin(f t) of several frequencies f and all whole t from 0 to `last`, within 1e-14 of the exact values.
/// Two short tables, of the lower bits of t and of the rest, are filled by multiplication from one sine per bit.
class PhaseTables {
 public:
  PhaseTables(std::vector<double> frequencies, std::size_t last);

  const std::vector<double>& frequencies() const { return frequencies_; }
  std::size_t lower_bits() const { return lower_bits_; }
  /// Pairs and the zeros after them that fill whole vectors.
  std::size_t stride() const { return stride_; }
  /// The cosines of an entry, then its sines.
  const double* lower(std::size_t entry) const { return lower_.data() + 2 * stride_ * entry; }
  const double* upper(std::size_t entry) const { return upper_.data() + 2 * stride_ * entry; }
  std::size_t last() const { return last_; }

 private:
  std::vector<double> frequencies_;
  std::size_t last_;
  std::size_t lower_bits_;
  std::size_t stride_;
  LargeVector<double> lower_;
  LargeVector<double> upper_;
};

/// A sample whose components stand so that those of all pairs of a layout are read in order. Serves all rotations of
/// the layout. Refers to the sample.
class PairedSample {
 public:
  PairedSample(const RowSample& sample, RotaryLayout layout);
  PairedSample(const PairedSample&) = delete;  // rows_ may refer to split_
  PairedSample& operator=(const PairedSample&) = delete;
  PairedSample(PairedSample&&) = default;
  PairedSample& operator=(PairedSample&&) = default;
  ~PairedSample() = default;

  const RowSample& sample() const { return *sample_; }
  /// |sum of R(-p) v|^2 over the rows, where pair i of the components from `first` on is rotated by the i-th of the
  /// tables' frequencies. The tables must reach the sample's last position, if all positions are whole.
  double squared_sum(std::size_t first, const PhaseTables& tables) const;
  /// squared_sum() for two tables of equal size and reach, in less time than one after the other.
  std::pair<double, double> squared_sums(std::size_t first, const PhaseTables& one, const PhaseTables& other) const;

 private:
  // Where the first and the second components of the pairs begin in a row.
  struct Places {
    std::size_t first;
    std::size_t second;
  };
  Places places(std::size_t first, std::size_t pairs) const;
  double squared_sum_of_any_positions(const Places& places, const std::vector<double>& frequencies) const;

  const RowSample* sample_;
  RotaryLayout layout_;
  LargeVector<double> split_;  // interleaved: the components with even numbers, then those with odd ones
  const double* rows_;         // the sample's sums, or split_
};

/// `fixed` of a sample whose vectors are un-rotated by `rotation`. Its attention factor is left out.
double fixed_under(const RowSample& sample, const Rotation& rotation);

}  // namespace attention_plasticity

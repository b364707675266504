#pragma once

#include <cstddef>
#include <vector>

#include "attention_plasticity/base/large_vector.h"
#include "attention_plasticity/base/matrix.h"

namespace attention_plasticity {

/// Counts how often w·q > 0 over given queries q, for many w. A tie counts as half.
///
/// The counts are those of products in double, summed component by component. Most signs are found in single precision:
/// for unit vectors its error has a known bound, and only products within the bound are computed again in double.
class WinCounter {
 public:
  /// Queries × components.
  explicit WinCounter(Matrix queries);

  /// The count for each row of `directions`.
  std::vector<double> count(const Matrix& directions) const;

  std::size_t queries() const { return queries_.rows(); }

 private:
  Matrix queries_;
  std::vector<std::size_t> moving_;  // queries that are not 0; a query of 0 ties with every w
  LargeVector<float> panels_;        // panels of four queries of `moving_`, scaled to length 1
};

}  // namespace attention_plasticity

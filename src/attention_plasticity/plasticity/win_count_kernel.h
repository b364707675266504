#pragma once

#include <cstddef>
#include <vector>

#include "attention_plasticity/base/large_vector.h"
#include "attention_plasticity/base/matrix.h"

namespace attention_plasticity {

/// Counts how often w·q > 0 over given queries q, ties as half, for many w.
///
/// The counts are those of products in double, component after component. Most are settled in single precision: of
/// vectors scaled to length 1, it errs by less than a known bound, and only what lies within it is multiplied again.
class WinCounter {
 public:
  /// Queries × components.
  explicit WinCounter(Matrix queries);

  /// For each row of `directions`.
  std::vector<double> count(const Matrix& directions) const;

  std::size_t queries() const { return queries_.rows(); }

 private:
  Matrix queries_;
  std::vector<std::size_t> moving_;  // queries that are not 0; those tie with everything
  LargeVector<float> panels_;        // of four moving queries, of length 1: for each component, one value of each
};

}  // namespace attention_plasticity

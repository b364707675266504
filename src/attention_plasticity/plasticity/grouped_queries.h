#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "attention_plasticity/base/matrix.h"

namespace attention_plasticity {

/// The jackknife group that a figure is computed without; none: all queries count.
using LeftOut = std::optional<std::size_t>;

/// Rows split into groups: entry g lists the rows of group g.
using GroupedRows = std::vector<std::vector<std::size_t>>;

/// How many queries there are and where, with any one group left out.
class GroupedPositions {
 public:
  GroupedPositions(std::span<const double> position, const GroupedRows& rows);

  std::size_t count(LeftOut left_out = {}) const;
  /// NaN when no query is left.
  double mean(LeftOut left_out = {}) const;

 private:
  std::vector<std::size_t> count_;
  std::vector<double> sum_;
};

/// Mean and variance of w·q over a set of queries q, for many w at once.
struct ProjectedMoments {
  std::vector<double> mean;
  std::vector<double> variance;  ///< n - 1 in the denominator, never negative; 0 for a single query
};

/// Means and covariances of queries as they show along given directions, with any one group left out.
///
/// Each group g keeps its count, its mean and a factor F_g with F_gᵀ F_g = sum (q - mean_g)(q - mean_g)ᵀ: the centred
/// rows themselves, or their triangular factor where there are more rows than components. A direction w then has the
/// sum of squares |F_g w|² in the group, and the groups are merged for each w. All of it is sums of squares: nothing is
/// subtracted, so no variance turns negative, and queries that are all equal have variance 0 exactly. Leaving out each
/// of G groups costs one product with all rows rather than G products with a covariance.
class GroupedScatter {
 public:
  /// Components before `first_component` count as zero.
  GroupedScatter(const Matrix& vectors, const GroupedRows& rows, std::size_t first_component);

  /// A set of directions seen by every group.
  class Projection {
   public:
    /// At least one query must be left.
    ProjectedMoments moments(LeftOut left_out = {}) const;

   private:
    friend class GroupedScatter;
    std::vector<double> count_;
    Matrix mean_;     // groups × directions: w·mean_g
    Matrix squares_;  // groups × directions: |F_g w|²
  };
  /// `directions` is components × directions.
  Projection project(const Matrix& directions) const;

 private:
  std::vector<double> count_;
  std::vector<std::size_t> first_factor_row_;  // of each group, and the end
  Matrix means_;                               // groups × components
  Matrix factors_;                             // the F_g, one below the other
};

}  // namespace attention_plasticity

#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "attention_plasticity/base/matrix.h"
#include "attention_plasticity/plasticity/quadratic_kernel.h"

namespace attention_plasticity {

/// The jackknife group that is left out; none: all queries count.
using LeftOut = std::optional<std::size_t>;

/// Rows split into groups: entry g lists the rows of group g.
using GroupedRows = std::vector<std::vector<std::size_t>>;

/// Splits the rows by the group of each, which is below `groups`; with 0 groups, all rows are in one.
GroupedRows split_rows(std::span<const std::size_t> rows, std::span<const std::size_t> group_of, std::size_t groups);
/// The same for the rows 0 .. rows - 1.
GroupedRows split_rows(std::size_t rows, std::span<const std::size_t> group_of, std::size_t groups);

/// Number and mean position of queries, with any one group left out.
class GroupedPositions {
 public:
  /// Positions are summed from `origin` (LineFit).
  GroupedPositions(std::span<const double> position, const GroupedRows& rows, double origin = 0);

  std::size_t count(LeftOut left_out = {}) const;
  /// NaN when no query is left.
  double mean(LeftOut left_out = {}) const { return origin_ + mean_from_origin(left_out); }
  double mean_from_origin(LeftOut left_out = {}) const;

 private:
  double origin_;
  std::vector<std::size_t> count_;
  std::vector<double> sum_;
};

/// Mean and variance of w·q over a set of queries q, for many w at once.
struct ProjectedMoments {
  std::vector<double> mean;
  std::vector<double> variance;  ///< n - 1 in the denominator, never negative; 0 for a single query
};

/// Writes the components of query `row` to `out`.
using QueryRow = std::function<void(std::size_t row, std::span<double> out)>;

/// Means and variances of queries along given directions, with any one group left out.
///
/// Each group g keeps its count, its mean and its scatter S_g = sum (q - mean_g)(q - mean_g)ᵀ. Along a direction w, the
/// group has the mean w·mean_g and the sum of squares wᵀ S_g w. For each w, the groups before and the groups after the
/// left-out one are merged, so nothing is subtracted. Leaving out each of G groups in turn costs one evaluation of G
/// quadratic forms instead of G covariances.
class GroupedScatter {
 public:
  GroupedScatter(std::size_t width, const GroupedRows& rows, const QueryRow& query);

  /// Moments of every group along a set of directions.
  class Projection {
   public:
    /// Moments of all queries but those of `left_out`, of which there must be at least one.
    ProjectedMoments moments(LeftOut left_out = {}) const;

   private:
    friend class GroupedScatter;
    // Row i holds the moments of the groups before i (before_), or from i on (behind_).
    struct Merged {
      std::vector<double> count;
      Matrix mean;
      Matrix squares;
    };
    void merge(std::span<const double> count, const Matrix& mean, const Matrix& squares);

    Merged before_;
    Merged behind_;
  };
  /// `directions` is directions × components.
  Projection project(const Matrix& directions) const;

 private:
  std::vector<double> count_;
  QuadraticForms forms_;
};

}  // namespace attention_plasticity

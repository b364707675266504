#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "attention_plasticity/base/matrix.h"
#include "attention_plasticity/plasticity/quadratic_kernel.h"

namespace attention_plasticity {

/// The jackknife group that a figure is computed without; none: all queries count.
using LeftOut = std::optional<std::size_t>;

/// Rows split into groups: entry g lists the rows of group g.
using GroupedRows = std::vector<std::vector<std::size_t>>;

/// Splits the rows by the group of each, which is below `groups`; with 0 groups, all rows are in one.
GroupedRows split_rows(std::span<const std::size_t> rows, std::span<const std::size_t> group_of, std::size_t groups);
/// The same for the rows 0 .. rows - 1.
GroupedRows split_rows(std::size_t rows, std::span<const std::size_t> group_of, std::size_t groups);

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

/// Writes the components of a query.
using QueryRow = std::function<void(std::size_t row, std::span<double> out)>;

/// Means and covariances of queries as they show along given directions, with any one group left out.
///
/// Each group g keeps its count, its mean and its scatter S_g = sum (q - mean_g)(q - mean_g)ᵀ. Along a direction w it
/// has the mean w·mean_g and the sum of squares wᵀ S_g w, and the groups are merged for each w: those before and those
/// behind the one that is left out, so that nothing is subtracted. Leaving out each of G groups costs one evaluation of
/// G quadratic forms rather than G covariances.
class GroupedScatter {
 public:
  GroupedScatter(std::size_t width, const GroupedRows& rows, const QueryRow& query);

  /// A set of directions seen by every group.
  class Projection {
   public:
    /// At least one query must be left.
    ProjectedMoments moments(LeftOut left_out = {}) const;

   private:
    friend class GroupedScatter;
    // Moments of the first, or the last, so many groups.
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

#pragma once

#include <optional>
#include <span>
#include <vector>

#include "attention_plasticity/base/matrix.h"
#include "attention_plasticity/plasticity/grouped_queries.h"
#include "attention_plasticity/plasticity/options.h"
#include "attention_plasticity/stats/line_fit.h"

namespace attention_plasticity {

/// The lines on position of a head's rotated queries: of all of them, and without each jackknife group.
class GroupedLines {
 public:
  GroupedLines(const Matrix& vectors, std::span<const double> position, const GroupedRows& rows);

  const LineFit& operator[](LeftOut left_out) const { return left_out ? without_[*left_out] : all_; }

 private:
  LineFit all_;
  std::vector<LineFit> without_;
};

/// Queries a bucket must have for the method to model it: 2 where a covariance is needed.
std::size_t fewest_queries(Method method);

/// q ~ N(mu, Sigma) for the queries of one bucket, in the space where the first component follows position:
///
///   positional  component 0: its line at the bucket's mean position, with the residual variance of the whole head;
///               the others: the bucket's mean and covariance + 1e-12 I; no covariance between the two
///   full        the bucket's mean and covariance
///   diagonal    every component on its line, with its residual variance (1e-12 if that is <= 0), independent
class QueryModel {
 public:
  /// `rows` are the bucket's, split into the groups of `lines` (or into one group, if none is to be left out).
  QueryModel(Method method, const Matrix& vectors, std::span<const double> position, const GroupedRows& rows,
             const GroupedLines& lines);

  const GroupedPositions& positions() const { return positions_; }

  /// Key differences w (components × pairs) under this model.
  class Pairs {
   public:
    /// 4 p (1 - p) with p = P(w·q > 0) for each pair; NaN for a pair that the method drops (`diagonal`, variance 0).
    std::vector<double> plasticity(LeftOut left_out = {}) const;

   private:
    friend class QueryModel;
    Pairs(const QueryModel& model, const Matrix& differences);
    ProjectedMoments moments(LeftOut left_out) const;

    const QueryModel& model_;
    const Matrix& differences_;
    std::optional<GroupedScatter::Projection> projection_;  // none for `diagonal`, which knows no covariance
  };
  /// The result refers to this model and to `differences`.
  Pairs pairs(const Matrix& differences) const { return Pairs(*this, differences); }

 private:
  Method method_;
  const GroupedLines& lines_;
  GroupedPositions positions_;
  std::optional<GroupedScatter> scatter_;
};

}  // namespace attention_plasticity

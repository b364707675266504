#pragma once

#include <optional>
#include <span>
#include <vector>

#include "attention_plasticity/analysis_options.h"
#include "attention_plasticity/base/matrix.h"
#include "attention_plasticity/plasticity/grouped_queries.h"
#include "attention_plasticity/plasticity/position_frame.h"
#include "attention_plasticity/stats/line_fit.h"

namespace attention_plasticity {

/// The lines on position of a head's reflected queries: of all queries, and without each jackknife group.
class GroupedLines {
 public:
  /// `all` are the lines of all reflected queries. `rows` lists all queries by group. Lines without a group have only
  /// the components that the method needs.
  GroupedLines(Method method, LineFit all, const PositionFrame& frame, const GroupedRows& rows,
               std::span<const double> position, const QueryRow& captured);

  const LineFit& operator[](LeftOut left_out) const { return left_out ? without_[*left_out] : all_; }

 private:
  LineFit all_;
  std::vector<LineFit> without_;
};

/// Replaces a variance that is not positive; also the ridge of `positional`.
constexpr double variance_floor = 1e-12;

/// The fewest queries that the method can model: 2 where it needs a covariance, else 1.
std::size_t fewest_queries(Method method);

/// The model q ~ N(mu, Sigma) of the queries of one bucket, in the space of a PositionFrame:
///
///   positional  component 0: its line at the bucket's mean position, with the residual variance of the whole head;
///               the others: the bucket's mean and covariance + 1e-12 I; no covariance between the two
///   full        the bucket's mean and covariance
///   diagonal    every component on its line, with its residual variance (1e-12 if that is <= 0), independent
class QueryModel {
 public:
  /// `rows` are the bucket's queries by group, as in `lines`, or a single group if none is left out. Refers to `frame`
  /// and `lines`.
  QueryModel(Method method, const PositionFrame& frame, const GroupedLines& lines, const GroupedRows& rows,
             std::span<const double> position, const QueryRow& captured);

  const GroupedPositions& positions() const { return positions_; }

  /// Key differences w and what the model says of them.
  class Pairs {
   public:
    /// 4 p (1 - p) with p = P(w·q > 0) for each pair; NaN for a pair that the method drops (`diagonal`, variance 0).
    std::vector<double> plasticity(LeftOut left_out = {}) const;

   private:
    friend class QueryModel;
    Pairs(const QueryModel& model, Matrix& differences);
    ProjectedMoments moments(LeftOut left_out) const;
    ProjectedMoments diagonal_moments(const LineFit& fit, double from_origin) const;
    void add_positional_component(ProjectedMoments& moments, const LineFit& fit, double from_origin) const;

    const QueryModel& model_;
    const Matrix& differences_;                             // reflected, for `diagonal`
    std::vector<double> along_;                             // component 0 of each pair, for `positional`
    std::vector<double> across_;                            // sum of squares of the others, for `positional`
    std::optional<GroupedScatter::Projection> projection_;  // none for `diagonal`, which has no covariance
  };
  /// `differences` is pairs × components, of captured keys; it is overwritten. The result refers to it and to this
  /// model.
  Pairs pairs(Matrix& differences) const { return Pairs(*this, differences); }

 private:
  Method method_;
  const PositionFrame& frame_;
  const GroupedLines& lines_;
  GroupedPositions positions_;
  std::optional<GroupedScatter> scatter_;
};

}  // namespace attention_plasticity

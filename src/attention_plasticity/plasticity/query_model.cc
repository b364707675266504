#include "attention_plasticity/plasticity/query_model.h"

#include <limits>

#include "attention_plasticity/plasticity/win_probability.h"
#include "attention_plasticity/stats/eigen.h"

namespace attention_plasticity {
namespace {

constexpr double variance_floor = 1e-12;

Eigen::Map<const Eigen::RowVectorXd> as_row(const std::vector<double>& values) {
  return {values.data(), static_cast<Eigen::Index>(values.size())};
}

ProjectedMoments diagonal_moments(const Matrix& differences, const LineFit& fit, double mean_position) {
  const Eigen::RowVectorXd mean = as_row(fit.intercept) + mean_position * as_row(fit.slope);
  const Eigen::RowVectorXd variance =
      as_row(fit.residual_variance).unaryExpr([](double v) { return v <= 0 ? variance_floor : v; });
  const auto pairs = static_cast<Eigen::Index>(differences.cols());
  ProjectedMoments moments{std::vector<double>(differences.cols()), std::vector<double>(differences.cols())};
  Eigen::Map<Eigen::RowVectorXd>(moments.mean.data(), pairs).noalias() = mean * as_eigen(differences);
  Eigen::Map<Eigen::RowVectorXd>(moments.variance.data(), pairs).noalias() =
      variance * as_eigen(differences).cwiseAbs2();
  return moments;
}

// Adds component 0 on its line, and the ridge, to the moments of the other components.
void add_positional_component(ProjectedMoments& moments, const Matrix& differences, const LineFit& fit,
                              double mean_position) {
  const double mean0 = fit.intercept[0] + fit.slope[0] * mean_position;
  const auto along = differences.row(0);
  const Eigen::RowVectorXd across =
      as_eigen(differences).bottomRows(as_eigen(differences).rows() - 1).colwise().squaredNorm();
  for (std::size_t i = 0; i < along.size(); ++i) {
    moments.mean[i] += along[i] * mean0;
    double& v = moments.variance[i];
    v += along[i] * along[i] * fit.residual_variance[0] + variance_floor * across[static_cast<Eigen::Index>(i)];
    if (v <= 0) v = variance_floor;
  }
}

}  // namespace

GroupedLines::GroupedLines(const Matrix& vectors, std::span<const double> position, const GroupedRows& rows) {
  LineMoments all(vectors.cols());
  for (std::size_t i = 0; i < vectors.rows(); ++i) all.add(position[i], vectors.row(i));
  all_ = all.finish();
  std::vector<LineMoments> of_group(rows.size(), LineMoments(vectors.cols()));
  for (std::size_t g = 0; g < rows.size(); ++g) {
    for (const std::size_t row : rows[g]) of_group[g].add(position[row], vectors.row(row));
  }
  for (std::size_t left_out = 0; left_out < rows.size(); ++left_out) {
    LineMoments rest(vectors.cols());
    for (std::size_t g = 0; g < rows.size(); ++g) {
      if (g != left_out) rest.merge(of_group[g]);
    }
    without_.push_back(rest.finish());
  }
}

std::size_t fewest_queries(Method method) { return method == Method::diagonal ? 1 : 2; }

QueryModel::QueryModel(Method method, const Matrix& vectors, std::span<const double> position, const GroupedRows& rows,
                       const GroupedLines& lines)
    : method_(method), lines_(lines), positions_(position, rows) {
  if (method != Method::diagonal) scatter_.emplace(vectors, rows, method == Method::positional ? 1 : 0);
}

QueryModel::Pairs::Pairs(const QueryModel& model, const Matrix& differences)
    : model_(model), differences_(differences) {
  if (model.scatter_) projection_ = model.scatter_->project(differences);
}

ProjectedMoments QueryModel::Pairs::moments(LeftOut left_out) const {
  const double mean_position = model_.positions_.mean(left_out);
  const LineFit& fit = model_.lines_[left_out];
  if (!projection_) return diagonal_moments(differences_, fit, mean_position);
  ProjectedMoments moments = projection_->moments(left_out);
  if (model_.method_ == Method::positional) add_positional_component(moments, differences_, fit, mean_position);
  return moments;
}

std::vector<double> QueryModel::Pairs::plasticity(LeftOut left_out) const {
  const ProjectedMoments moments = this->moments(left_out);
  std::vector<double> values(moments.mean.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool dropped = model_.method_ == Method::diagonal && moments.variance[i] <= 0;
    values[i] = dropped ? std::numeric_limits<double>::quiet_NaN()
                        : attention_plasticity::plasticity(moments.mean[i], moments.variance[i]);
  }
  return values;
}

}  // namespace attention_plasticity

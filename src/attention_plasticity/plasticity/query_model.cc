#include "attention_plasticity/plasticity/query_model.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "attention_plasticity/plasticity/direction_kernel.h"
#include "attention_plasticity/plasticity/win_probability_kernel.h"

namespace attention_plasticity {
namespace {

// Sums for the lines of one group: of all reflected components, or of component 0 alone.
LineMoments line_moments(const PositionFrame& frame, bool all_components, std::span<const std::size_t> rows,
                         std::span<const double> position, double origin, const QueryRow& captured) {
  LineMoments moments(all_components ? frame.width() : 1, origin);
  Matrix x(1, frame.width());
  for (const std::size_t row : rows) {
    captured(row, x.row(0));
    if (all_components) {
      frame.reflect(x);
    } else {
      x.row(0)[0] = product(x.row(0), frame.axis());
    }
    moments.add(position[row], x.row(0));
  }
  return moments;
}

}  // namespace

GroupedLines::GroupedLines(Method method, LineFit all, const PositionFrame& frame, const GroupedRows& rows,
                           std::span<const double> position, const QueryRow& captured)
    : all_(std::move(all)) {
  const bool all_components = method == Method::diagonal;
  std::vector<LineMoments> of_group;
  of_group.reserve(rows.size());
  for (const auto& group : rows) {
    of_group.push_back(line_moments(frame, all_components, group, position, all_.origin, captured));
  }
  for (std::size_t left_out = 0; left_out < rows.size(); ++left_out) {
    LineMoments rest(all_components ? frame.width() : 1, all_.origin);
    for (std::size_t g = 0; g < rows.size(); ++g) {
      if (g != left_out) rest.merge(of_group[g]);
    }
    without_.push_back(rest.finish());
  }
}

std::size_t fewest_queries(Method method) { return method == Method::diagonal ? 1 : 2; }

QueryModel::QueryModel(Method method, const PositionFrame& frame, const GroupedLines& lines, const GroupedRows& rows,
                       std::span<const double> position, const QueryRow& captured)
    : method_(method), frame_(frame), lines_(lines), positions_(position, rows, lines[{}].origin) {
  if (method != Method::diagonal) scatter_.emplace(frame.width(), rows, captured);
}

QueryModel::Pairs::Pairs(const QueryModel& model, Matrix& differences) : model_(model), differences_(differences) {
  if (model.method_ == Method::diagonal) model.frame_.reflect(differences);
  if (model.method_ == Method::positional) {
    along_.resize(differences.rows());
    across_.resize(differences.rows());
    remove_axis(differences, model.frame_.axis(), along_, across_);
  }
  if (model.scatter_) projection_ = model.scatter_->project(differences);
}

ProjectedMoments QueryModel::Pairs::diagonal_moments(const LineFit& fit, double from_origin) const {
  std::vector<double> mean = fit.intercept;
  for (std::size_t c = 0; c < mean.size(); ++c) mean[c] += from_origin * fit.slope[c];
  std::vector<double> variance = fit.residual_variance;
  std::ranges::replace_if(variance, [](double v) { return v <= 0; }, variance_floor);
  ProjectedMoments moments{std::vector<double>(differences_.rows()), std::vector<double>(differences_.rows())};
  add_components(differences_, mean, variance, moments.mean, moments.variance);
  return moments;
}

// Adds component 0, which lies on its line, and the ridge to the moments of the other components.
void QueryModel::Pairs::add_positional_component(ProjectedMoments& moments, const LineFit& fit,
                                                 double from_origin) const {
  const double mean0 = fit.intercept[0] + fit.slope[0] * from_origin;
  const double variance0 = fit.residual_variance[0];
  for (std::size_t i = 0; i < along_.size(); ++i) {
    moments.mean[i] += along_[i] * mean0;
    const double v = moments.variance[i] + (along_[i] * along_[i] * variance0 + variance_floor * across_[i]);
    moments.variance[i] = v <= 0 ? variance_floor : v;
  }
}

ProjectedMoments QueryModel::Pairs::moments(LeftOut left_out) const {
  const double from_origin = model_.positions_.mean_from_origin(left_out);
  const LineFit& fit = model_.lines_[left_out];
  if (!projection_) return diagonal_moments(fit, from_origin);
  ProjectedMoments moments = projection_->moments(left_out);
  if (model_.method_ == Method::positional) add_positional_component(moments, fit, from_origin);
  return moments;
}

std::vector<double> QueryModel::Pairs::plasticity(LeftOut left_out) const {
  ProjectedMoments moments = this->moments(left_out);
  std::vector<double> values = std::move(moments.mean);
  plasticity_of_pairs(values, moments.variance, values);
  if (model_.method_ == Method::diagonal) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (moments.variance[i] <= 0) values[i] = std::numeric_limits<double>::quiet_NaN();
    }
  }
  return values;
}

}  // namespace attention_plasticity

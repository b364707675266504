#include "attention_plasticity/plasticity/grouped_queries.h"

#include <Eigen/QR>
#include <limits>

#include "attention_plasticity/stats/eigen.h"

namespace attention_plasticity {
namespace {

Eigen::Index index(std::size_t i) { return static_cast<Eigen::Index>(i); }

// The triangular factor R of X = QR, for which RᵀR = XᵀX; X itself where it has no more rows than columns.
RowMajorMatrix scatter_factor(const RowMajorMatrix& centred) {
  if (centred.rows() <= centred.cols()) return centred;
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr(centred);
  return qr.matrixQR().topRows(centred.cols()).triangularView<Eigen::Upper>();
}

// Subtracts and returns the mean. It is summed from differences to the first row, so that equal rows become exactly 0.
Eigen::RowVectorXd centre(RowMajorMatrix& rows) {
  const Eigen::RowVectorXd first = rows.row(0);
  rows.rowwise() -= first;
  const Eigen::RowVectorXd shift = rows.colwise().mean();
  rows.rowwise() -= shift;
  return first + shift;
}

}  // namespace

GroupedPositions::GroupedPositions(std::span<const double> position, const GroupedRows& rows) {
  for (const auto& of_group : rows) {
    double sum = 0;
    for (const std::size_t row : of_group) sum += position[row];
    count_.push_back(of_group.size());
    sum_.push_back(sum);
  }
}

std::size_t GroupedPositions::count(LeftOut left_out) const {
  std::size_t count = 0;
  for (std::size_t g = 0; g < count_.size(); ++g) count += left_out == g ? 0 : count_[g];
  return count;
}

double GroupedPositions::mean(LeftOut left_out) const {
  double sum = 0;
  for (std::size_t g = 0; g < sum_.size(); ++g) sum += left_out == g ? 0 : sum_[g];
  const std::size_t n = count(left_out);
  return n > 0 ? sum / static_cast<double>(n) : std::numeric_limits<double>::quiet_NaN();
}

GroupedScatter::GroupedScatter(const Matrix& vectors, const GroupedRows& rows, std::size_t first_component)
    : means_(rows.size(), vectors.cols()) {
  const auto all = as_eigen(vectors);
  std::vector<RowMajorMatrix> factors;
  std::size_t factor_rows = 0;
  for (std::size_t g = 0; g < rows.size(); ++g) {
    count_.push_back(static_cast<double>(rows[g].size()));
    first_factor_row_.push_back(factor_rows);
    if (rows[g].empty()) continue;
    RowMajorMatrix centred(index(rows[g].size()), all.cols());
    for (std::size_t i = 0; i < rows[g].size(); ++i) centred.row(index(i)) = all.row(index(rows[g][i]));
    centred.leftCols(index(first_component)).setZero();
    as_eigen(means_).row(index(g)) = centre(centred);
    factors.push_back(scatter_factor(centred));
    factor_rows += static_cast<std::size_t>(factors.back().rows());
  }
  first_factor_row_.push_back(factor_rows);

  factors_ = Matrix(factor_rows, vectors.cols());
  Eigen::Index at = 0;
  for (const RowMajorMatrix& factor : factors) {
    as_eigen(factors_).middleRows(at, factor.rows()) = factor;
    at += factor.rows();
  }
}

GroupedScatter::Projection GroupedScatter::project(const Matrix& directions) const {
  Projection projection;
  projection.count_ = count_;
  projection.mean_ = Matrix(count_.size(), directions.cols());
  projection.squares_ = Matrix(count_.size(), directions.cols());
  as_eigen(projection.mean_).noalias() = as_eigen(means_) * as_eigen(directions);
  const RowMajorMatrix along = as_eigen(factors_) * as_eigen(directions);
  for (std::size_t g = 0; g < count_.size(); ++g) {
    auto squares = as_eigen(projection.squares_).row(index(g));
    for (std::size_t i = first_factor_row_[g]; i < first_factor_row_[g + 1]; ++i) {
      squares += along.row(index(i)).cwiseAbs2();
    }
  }
  return projection;
}

ProjectedMoments GroupedScatter::Projection::moments(LeftOut left_out) const {
  const std::size_t directions = mean_.cols();
  ProjectedMoments merged{std::vector<double>(directions), std::vector<double>(directions)};
  double n = 0;
  for (std::size_t g = 0; g < count_.size(); ++g) {
    if (left_out == g || count_[g] == 0) continue;
    const double share = count_[g] / (n + count_[g]);
    const double between = n * share;
    const auto mean = mean_.row(g);
    const auto squares = squares_.row(g);
    for (std::size_t i = 0; i < directions; ++i) {
      const double shift = mean[i] - merged.mean[i];
      merged.mean[i] += shift * share;
      merged.variance[i] += squares[i] + between * shift * shift;
    }
    n += count_[g];
  }
  if (n > 1) {
    for (double& variance : merged.variance) variance /= n - 1;
  }
  return merged;
}

}  // namespace attention_plasticity

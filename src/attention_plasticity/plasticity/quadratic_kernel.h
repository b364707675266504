#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "attention_plasticity/base/matrix.h"

namespace attention_plasticity {

/// The mean and a symmetric matrix S_g of each group g, laid out so that w·mean_g and wᵀ S_g w are evaluated for many w
/// at once with vector instructions.
class QuadraticForms {
 public:
  QuadraticForms(std::size_t width, std::size_t expected_groups) : width_(width), expected_groups_(expected_groups) {}

  /// Adds a group. `scatter` points to S_g, width × width, its rows `stride` values apart; only the upper triangle is
  /// read.
  void add(std::span<const double> mean, const double* scatter, std::size_t stride);
  /// Adds a group whose S_g is the sum of x xᵀ over `count` rows x, `stride` values apart: cheaper than add() if there
  /// are fewer rows than half the components.
  void add_rows(std::span<const double> mean, const double* rows, std::size_t count, std::size_t stride);

  std::size_t groups() const { return groups_; }

  /// means(g, i) = w_i·mean_g and squares(g, i) = w_iᵀ S_g w_i, where w_i is row i of `directions`.
  void evaluate(const Matrix& directions, Matrix& means, Matrix& squares) const;

 private:
  void add_mean(std::span<const double> mean);
  double* add_panels(std::size_t values);

  std::size_t width_;
  std::size_t expected_groups_;
  std::size_t groups_ = 0;
  std::vector<std::optional<std::size_t>> rows_;  // number of rows of each group; none where it is kept as a matrix
  std::vector<double> means_;                     // panels of four groups: for each component, one value per group
  // For each group, panels of four rows: rows of the matrix from the diagonal on, or the rows x themselves.
  std::vector<double> panels_;
};

}  // namespace attention_plasticity

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "attention_plasticity/base/matrix.h"

namespace attention_plasticity {

/// Means and symmetric matrices of some groups, laid out so that w·mean_g and wᵀ S_g w are evaluated for many w at
/// once, with the widest vectors that the processor has.
class QuadraticForms {
 public:
  QuadraticForms(std::size_t width, std::size_t expected_groups) : width_(width), expected_groups_(expected_groups) {}

  /// One more group. `scatter` holds width × width values row after row, `stride` apart; of those only the upper
  /// triangle is read.
  void add(std::span<const double> mean, const double* scatter, std::size_t stride);
  /// One more group whose S_g is the sum of x xᵀ over `count` rows x, `stride` apart: cheaper where there are fewer
  /// rows than half the components.
  void add_rows(std::span<const double> mean, const double* rows, std::size_t count, std::size_t stride);

  std::size_t groups() const { return groups_; }

  /// means(g, i) = w_i·mean_g and squares(g, i) = w_iᵀ S_g w_i, w_i being row i of `directions`.
  void evaluate(const Matrix& directions, Matrix& means, Matrix& squares) const;

 private:
  void add_mean(std::span<const double> mean);
  double* add_panels(std::size_t values);

  std::size_t width_;
  std::size_t expected_groups_;
  std::size_t groups_ = 0;
  std::vector<std::optional<std::size_t>> rows_;  // of each group; none where its matrix is kept instead
  std::vector<double> means_;                     // panels of four groups: for each component, one value of each
  // For each group, panels of four rows: of the matrix, from the diagonal to the right, or of its rows.
  std::vector<double> panels_;
};

}  // namespace attention_plasticity

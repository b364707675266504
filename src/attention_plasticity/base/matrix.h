#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace attention_plasticity {

/// A dense matrix of doubles, stored row by row. Modules exchange matrices in this form, so that no header needs a
/// linear algebra library.
class Matrix {
 public:
  Matrix() = default;
  Matrix(std::size_t rows, std::size_t cols) : rows_(rows), cols_(cols), values_(rows * cols) {}

  std::size_t rows() const { return rows_; }
  std::size_t cols() const { return cols_; }
  std::span<double> row(std::size_t i) { return {values_.data() + i * cols_, cols_}; }
  std::span<const double> row(std::size_t i) const { return {values_.data() + i * cols_, cols_}; }
  double* data() { return values_.data(); }
  const double* data() const { return values_.data(); }

 private:
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
  std::vector<double> values_;
};

}  // namespace attention_plasticity

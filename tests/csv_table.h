#pragma once

#include <string>

#include "attention_plasticity/results/csv.h"

namespace attention_plasticity {

/// How far two values of a column may differ: by `relative` times the expected value plus `absolute`.
struct Tolerance {
  double relative = 1e-9;
  double absolute = 0;
};

/// The tolerance of a column, set by the specification and the golden figures. It is larger for the p of Kolmogorov
/// tests, whose golden values are accurate to about 3e-6. It is absolute for R² near zero, which is a difference of
/// nearly equal numbers.
Tolerance column_tolerance(const std::string& column);

/// Expects the same columns and rows, and values within the tolerance of their column.
void expect_same_figures(const CsvTable& actual, const CsvTable& expected, const std::string& name);

}  // namespace attention_plasticity

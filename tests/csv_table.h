#pragma once

#include <string>

#include "attention_plasticity/results/csv_table.h"

namespace attention_plasticity {

/// How far two figures of a column may differ: by `relative` of the expected one, or by `absolute`.
struct Tolerance {
  double relative = 1e-9;
  double absolute = 0;
};

/// The tolerance that spec and golden figures set for a column: looser for Kolmogorov p (the golden ones are good to
/// about 3e-6) and, in absolute terms, for R² near zero, a difference of nearly equal numbers.
Tolerance column_tolerance(const std::string& column);

/// Expects the same columns and rows, and figures within their column's tolerance.
void expect_same_figures(const CsvTable& actual, const CsvTable& expected, const std::string& name);

}  // namespace attention_plasticity

#include "csv_table.h"

#include <gtest/gtest.h>

#include <cmath>

namespace attention_plasticity {
namespace {

bool agrees(const std::string& actual, const std::string& expected, const Tolerance& tolerance) {
  if (actual == expected) return true;
  if (actual.empty() || expected.empty()) return false;
  const double x = std::stod(actual);
  const double y = std::stod(expected);
  return std::abs(x - y) <= tolerance.relative * std::abs(y) + tolerance.absolute;
}

}  // namespace

Tolerance column_tolerance(const std::string& column) {
  if (column == "q_resid0_ks_p" || column == "q_noise_med_ks_p") return {.relative = 1e-5};
  if (column == "r2" || column == "component_r2" || column == "weight" || column == "component_weight") {
    return {.absolute = 1e-12};
  }
  return {};
}

void expect_same_figures(const CsvTable& actual, const CsvTable& expected, const std::string& name) {
  ASSERT_EQ(actual.columns, expected.columns) << name;
  ASSERT_EQ(actual.rows.size(), expected.rows.size()) << name;
  int shown = 0;
  for (std::size_t row = 0; row < expected.rows.size() && shown < 10; ++row) {
    for (std::size_t i = 0; i < expected.columns.size(); ++i) {
      const std::string& column = expected.columns[i];
      if (agrees(actual.rows[row].at(i), expected.rows[row].at(i), column_tolerance(column))) continue;
      ADD_FAILURE() << name << ", row " << row << ", " << column << ": " << actual.rows[row][i] << " instead of "
                    << expected.rows[row][i];
      ++shown;
    }
  }
}

}  // namespace attention_plasticity

#include "csv_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

namespace attention_plasticity {
namespace {

std::vector<std::string> fields(const std::string& line) {
  std::vector<std::string> result(1);
  for (const char c : line) {
    if (c == ',') {
      result.emplace_back();
    } else {
      result.back() += c;
    }
  }
  return result;
}

bool agrees(const std::string& actual, const std::string& expected, const Tolerance& tolerance) {
  if (actual == expected) return true;
  if (actual.empty() || expected.empty()) return false;
  const double x = std::stod(actual);
  const double y = std::stod(expected);
  return std::abs(x - y) <= tolerance.relative * std::abs(y) + tolerance.absolute;
}

}  // namespace

CsvTable parse_csv(const std::string& text) {
  CsvTable table;
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  table.columns = fields(line);
  while (std::getline(lines, line)) table.rows.push_back(fields(line));
  return table;
}

std::string read_text(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  EXPECT_TRUE(stream) << file;
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

CsvTable read_csv(const std::filesystem::path& file) { return parse_csv(read_text(file)); }

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

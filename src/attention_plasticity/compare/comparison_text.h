#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "attention_plasticity/compare/comparison.h"

namespace attention_plasticity {

/// A column of head_differences.csv and what it means, in one line.
struct DifferenceColumn {
  std::string_view name;
  std::string_view meaning;
};
std::span<const DifferenceColumn> difference_columns();

/// head_differences.csv: one row for each compared column and matched head.
std::string differences_csv(const Comparison& comparison);

/// comparison.json: the two runs, caveats and summaries.
std::string comparison_json(const Comparison& comparison, const ComparedRun& a, const ComparedRun& b);

/// For people: the means, how many heads moved and in which layers, and the heads that moved most.
std::string comparison_table(const Comparison& comparison, const ComparedRun& a, const ComparedRun& b);

}  // namespace attention_plasticity

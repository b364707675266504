#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/results/csv_table.h"

namespace attention_plasticity {

/// How the values of many heads become one.
enum class Aggregate { mean, median };

/// The mean or median of values that are not NaN. NaN when there are none.
double aggregated(std::vector<double> values, Aggregate aggregate);

/// The first of `names` that the table has: the project's own name, then those that other programs give the same thing.
/// Throws Error(input) that says so, and that `file_name` is the table to give, when it has none.
std::size_t column_named(const CsvTable& table, std::initializer_list<std::string_view> names,
                         std::string_view file_name);

/// Throws Error(input), naming the file, for a map of more cells than a picture can show (4 million, 32 MB).
void check_map_size(std::size_t rows, std::size_t columns, const std::string& file);

/// The columns that name a head.
struct HeadColumns {
  std::size_t layer = 0;
  std::size_t q_head = 0;
};

HeadColumns head_columns(const CsvTable& table, std::string_view file_name);

}  // namespace attention_plasticity

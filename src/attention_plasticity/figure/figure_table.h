#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace attention_plasticity {

/// How the values of many heads are combined into one.
enum class Aggregate { mean, median };

/// The mean or median of values that are not NaN. NaN when there are none.
double aggregated(std::vector<double> values, Aggregate aggregate);

/// Throws Error(input), naming the file, for a map with more cells than an image can show (4 million, 32 MB).
void check_map_size(std::size_t rows, std::size_t columns, const std::string& file);

}  // namespace attention_plasticity

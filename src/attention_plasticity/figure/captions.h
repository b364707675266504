#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "attention_plasticity/base/matrix.h"
#include "attention_plasticity/figure/plasticity_curves.h"
#include "attention_plasticity/results/csv.h"

// The line below a figure: how many heads it shows, and how much data is behind its values.

namespace attention_plasticity {

/// The number of heads in a table with the columns layer and q_head; 0 without them.
std::size_t num_heads(const CsvTable& table);

/// "40 heads", "3 of 40 heads" for a selection, "1 head (layer 3, head 2)".
std::string head_text(const CsvTable& table, std::size_t heads, std::size_t all_heads);

/// A count for people: 4096 is 4,096.
std::string count_text(double count);

// `heads` is a head_text, and `counted` says what is counted: "triples", "pairs of keys", "queries".

/// `is_bound`: the error of a mean over heads is an upper bound.
std::string curves_caption(const PlasticityCurves& curves, const std::string& heads, std::string_view counted,
                           double min_count, bool is_bound);

/// `counts` are those of every cell, NaN for blanks; null: the table has none.
std::string cells_caption(const Matrix* counts, const std::string& heads, std::string_view counted, bool has_hatching,
                          std::size_t num_heads, double min_count);

/// `counts` are those of every head, NaN where unknown; `counted` may be empty.
std::string heads_caption(const Matrix& counts, const std::string& heads, std::string_view counted, bool has_hatching,
                          double min_count);

}  // namespace attention_plasticity

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attention_plasticity/results/csv.h"

namespace attention_plasticity {

/// How the values of many heads are combined into one.
enum class Aggregate { mean, median };

/// A value of one head, and the number of pairs or triples behind it.
struct CountedValue {
  double value = 0;  ///< not NaN
  double count = 1;  ///< >= 0; 1 for every head where the table has no counts
};

/// The mean or median over heads, each weighted by its count. NaN when the counts sum to 0. The weighted median is the
/// value below and above which half of the counts lie; halfway between two values it is their mean.
double aggregated(std::vector<CountedValue> values, Aggregate aggregate);

/// The count of a mean over heads that `min_count` is compared with: `total` pairs or triples, times the share of all
/// heads that have any of them. A mean over a few of the heads says little about the others, however many triples it
/// has. For one head it is that head's count.
double supporting_count(double total, std::size_t heads_with_any, std::size_t all_heads);

/// The heads to draw: those of the layers and with the numbers listed. An empty list selects all.
struct HeadSelection {
  std::vector<int> layers = {};
  std::vector<int> heads = {};

  bool contains(int layer, int q_head) const;
};

/// The rows of the selected heads. The model has `num_layers` layers of `num_heads` query heads, and at least as many
/// as the table needs. Throws Error(usage) for layers and heads beyond them, and when no row is left. The table needs
/// the columns layer and q_head.
CsvTable selected_rows(CsvTable table, const HeadSelection& selection, int num_layers = 0, int num_heads = 0);

/// Throws Error(input), naming the file, for a map with more cells than an image can show (4 million, 32 MB).
void check_map_size(std::size_t rows, std::size_t columns, const std::string& file);

}  // namespace attention_plasticity

#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "attention_plasticity/figure/figure.h"
#include "attention_plasticity/figure/plasticity_curves.h"
#include "attention_plasticity/results/csv.h"
#include "attention_plasticity/results/head_tables.h"
#include "attention_plasticity/results/result_files.h"

// The numbers of a figure, as far as they are the same for whoever draws it.

namespace attention_plasticity {

/// The table of a figure, the rows of the selected heads, and what is known about the run.
struct DrawnTable {
  ResultFiles files;
  CsvTable table;
  std::optional<RunDescription> run;
  std::size_t all_heads = 0;  ///< before the selection
};

/// Reads the table that a figure of this kind draws. Throws Error(input) when the run has none, and Error(usage) for a
/// selection that leaves no head.
DrawnTable drawn_table(const FigureOptions& options);

/// Where buckets lie: as the options say, else as run.json says.
BucketGeometry geometry_of(const FigureOptions& options, const std::optional<RunDescription>& run);

struct DrawnCurves {
  PlasticityCurves curves;
  BucketGeometry geometry;
  bool is_exact = false;  ///< position-exact; otherwise pooled
  bool is_bound = false;  ///< the error of the mean over heads is an upper bound
};

/// The curves of a table by time, or of the cells of buckets.
DrawnCurves drawn_curves(const FigureOptions& options, const DrawnTable& drawn);

/// The first measure of a whole model that the table has. A table without any is drawn as if it had the first one,
/// which gives the message about the missing column.
std::string main_column(const HeadMetrics& metrics);

}  // namespace attention_plasticity

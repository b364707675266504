#pragma once

#include "attention_plasticity/figure/figure.h"

namespace attention_plasticity {

/// The script of a figure of a comparison: FigureKind::changes, change_map or series. `options.table` is what `compare`
/// wrote, head_differences.csv or head_series.csv, or its folder. Throws as figure_script does.
FigureScript comparison_figure(const FigureOptions& options);

}  // namespace attention_plasticity

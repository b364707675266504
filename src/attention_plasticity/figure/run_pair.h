#pragma once

#include "attention_plasticity/figure/figure.h"

namespace attention_plasticity {

/// The script of a figure of two runs and their difference: FigureKind::plasticity or distance, of the heads that both
/// runs have. `options.table` is the first run and `options.against` the second. Throws as figure_script does, and
/// Error(input) for runs that do not fit: models of other shapes, no head in both, and for curves, positions that were
/// sampled in different ways.
FigureScript run_pair_figure(const FigureOptions& options);

}  // namespace attention_plasticity

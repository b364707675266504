#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/cli/arguments.h"
#include "attention_plasticity/figure/figure.h"
#include "attention_plasticity/settings/field.h"

namespace attention_plasticity {

/// The names of the figures, in the order of FigureKind.
std::span<const std::string_view> figure_words();

/// The fields of plot configurations: keys of the YAML file, and flags of the same names. Their scope is the figures
/// that they apply to.
const std::vector<Field>& plot_fields();

/// A figure, and the file to write it to.
struct PlotRequest {
  FigureOptions figure;
  std::string output;
};

/// What the positional argument, `--config` and the flags ask for. Throws Error(usage), naming the place, for unknown
/// fields, for fields that do not apply to the figure, and for values of the wrong type or out of range.
PlotRequest plot_request(const Arguments& arguments);

}  // namespace attention_plasticity

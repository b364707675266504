#pragma once

#include <span>
#include <string>
#include <string_view>

#include "attention_plasticity/cli/arguments.h"
#include "attention_plasticity/figure/figure.h"
#include "attention_plasticity/run/config_fields.h"

namespace attention_plasticity {

/// The figures as they are typed, in the order of FigureKind.
std::span<const std::string_view> figure_words();

/// The fields of plot configurations: keys of the YAML file, and flags of the same names.
std::span<const ConfigField> plot_fields();

/// A figure, and the file that it goes to.
struct PlotRequest {
  FigureOptions figure;
  std::string output;
};

/// What the positional argument, `--config` and the flags ask for. Throws Error(usage), naming the place, for unknown
/// fields, for those that mean nothing to the figure, and for values of the wrong type or out of range.
PlotRequest plot_request(const Arguments& arguments);

}  // namespace attention_plasticity

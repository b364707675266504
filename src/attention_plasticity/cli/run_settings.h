#pragma once

#include <vector>

#include "attention_plasticity/cli/arguments.h"
#include "attention_plasticity/cli/progress.h"
#include "attention_plasticity/cli/terminal.h"
#include "attention_plasticity/run/config.h"

namespace attention_plasticity {

/// The settings of a run: those of the YAML file that --config names, then those given as flags.
std::vector<Setting> run_settings(const Arguments& arguments);

/// What --quiet, --progress and the terminal make of it.
Verbosity verbosity_of(const Arguments& arguments, const Terminal& terminal);

}  // namespace attention_plasticity

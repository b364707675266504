#pragma once

#include <string>

#include "attention_plasticity/cli/arguments.h"

namespace attention_plasticity {

/// The command that goes on where an interrupted `analyze` was, as it is typed in a shell; without credentials.
std::string resume_command(const Arguments& arguments);

}  // namespace attention_plasticity

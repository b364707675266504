#pragma once

#include "attention_plasticity/cli/arguments.h"
#include "attention_plasticity/run/config_fields.h"

namespace attention_plasticity {

/// The flag of a field of a configuration, with its default in the help.
Flag config_flag(const ConfigField& field);

}  // namespace attention_plasticity

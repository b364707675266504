#pragma once

#include <span>
#include <string>

#include "attention_plasticity/cli/arguments.h"

namespace attention_plasticity {

/// The manual page of the program, in roff for man(1), made from the subcommands' own tables.
std::string manual_page(std::span<const Command> commands, const std::string& version);

}  // namespace attention_plasticity

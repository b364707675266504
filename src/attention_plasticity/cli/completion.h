#pragma once

#include <span>
#include <string>

#include "attention_plasticity/cli/arguments.h"

namespace attention_plasticity {

// Scripts that complete subcommands, flags and the words that flags take, made from the subcommands' own tables.

std::string bash_completion(std::span<const Command> commands);
std::string zsh_completion(std::span<const Command> commands);
std::string fish_completion(std::span<const Command> commands);

}  // namespace attention_plasticity

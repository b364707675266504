#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/cli/arguments.h"

namespace attention_plasticity {

/// The flags of a subcommand under one heading.
struct FlagGroup {
  std::string name;  ///< "The dump"; "Flags" for those without a group
  std::vector<Field> flags;
};

/// The flags by group, in the order of the table. Flags without a group come first.
std::vector<FlagGroup> flag_groups(const Command& command);

/// "-o, --output_dir TEXT".
std::string spelled_flag(const Command& command, const Field& flag);

/// The help of a flag with what it applies to and its default: "How many. (default: 8)".
std::string flag_meaning(const Field& flag);

/// The first line of the summary.
std::string first_summary_line(const Command& command);

/// What the program is for, in one sentence.
std::string_view program_description();

/// How flags may be typed; the same for all subcommands.
std::string_view flag_rules();

/// Usage, summary, flags by group and examples of the subcommand, in lines of at most `width` columns. Words that are
/// longer are not broken, and nor are the examples.
std::string help_text(const Command& command, std::size_t width);

/// The subcommands and the exit codes.
std::string overview_text(std::span<const Command> commands, std::size_t width);

/// `text` in lines of at most `width` columns. All but the first are indented by `indent` blanks; the first is too,
/// unless it begins at column `begins`.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent, std::size_t begins = 0);

}  // namespace attention_plasticity

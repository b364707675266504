#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/settings/field.h"

namespace attention_plasticity {

/// A command line, and what it does in a few words.
struct Example {
  std::string text;
  std::string meaning;
};

/// A subcommand as its help shows it. Each flag is a field: `max_workers` is typed --max_workers or --max-workers.
struct Command {
  std::string name;
  std::string positionals;  ///< "DUMP", "mean|median RESULTS"; empty: takes none
  std::string summary;
  std::vector<Field> flags;
  std::vector<Example> examples = {};
};

/// What was typed after the subcommand.
struct Arguments {
  std::vector<Setting> flags;  ///< a bare boolean has the value "true"
  std::vector<std::string> positionals;

  /// The value of the last flag of this name; none when it was not given or is null.
  std::optional<std::string> value(std::string_view flag) const;
  /// The only positional argument. Throws Error(usage) with `message` unless there is exactly one.
  const std::string& only_positional(const std::string& message) const;
  /// Throws Error(usage), with the first positional argument before `message`, when there is one.
  void refuse_positionals(std::string_view message) const;
};

/// The letter that is short for a flag of the subcommand: -q for --quiet, -o for --output or, without it, --output_dir;
/// none: there is none.
std::optional<char> short_flag(const Command& command, const Field& flag);

/// Flags may be given as `--flag value` or `--flag=value`, booleans also bare or as `--no-flag`. Some have a short
/// form:
/// `-o value`, `-q`. A word after a boolean
/// is its value only if it is true, false, yes, no, on, off, 1, 0 or null. Everything after `--` is positional. Throws
/// Error(usage) for unknown flags, with the nearest known one, and for missing values.
Arguments parse_arguments(const Command& command, std::span<const std::string> words);

/// The flag --config, which names a YAML file.
Field config_flag(std::string help);

/// The settings of these fields: those in the YAML file that --config names, then those given as flags.
std::vector<Setting> configured_settings(const Arguments& arguments, const std::vector<Field>& fields);

/// The options that the flags of the table set. Other flags are left out.
template <class Options>
Options options_of(const FieldTable<Options>& table, const Arguments& arguments) {
  std::vector<Setting> settings;
  for (const Setting& flag : arguments.flags) {
    if (find_field(table, flag.field) != nullptr) settings.push_back(flag);
  }
  return resolve(table, settings);
}

}  // namespace attention_plasticity

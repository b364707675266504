#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attention_plasticity {

/// A flag of a subcommand. `name` has underscores and no dashes: `max_workers` is typed --max_workers or --max-workers.
struct Flag {
  std::string name;
  std::string value;  ///< what stands for the value in the help: FILE, N; empty for a boolean
  std::string help;

  bool is_boolean() const { return value.empty(); }
};

/// A subcommand as its help shows it.
struct Command {
  std::string name;
  std::string positionals;  ///< "DUMP"; empty: takes none
  std::string summary;
  std::vector<Flag> flags;
};

/// What was typed after the subcommand.
class Arguments {
 public:
  struct Given {
    std::string flag;   ///< the flag's name
    std::string typed;  ///< as the user spelled it: --max-workers
    std::string value;  ///< "true" or "false" for a boolean, unless it was given another word
  };

  const std::vector<Given>& flags() const { return flags_; }
  const std::vector<std::string>& positionals() const { return positionals_; }
  /// The value of the last one given; none when it was not given or is the word null.
  std::optional<std::string> value(std::string_view flag) const;
  /// A boolean flag; `otherwise` unless given. Throws Error(usage) for a word that is neither true nor false.
  bool is_on(std::string_view flag, bool otherwise = false) const;

 private:
  friend Arguments parse_arguments(const Command& command, std::span<const std::string> words);
  std::vector<Given> flags_;
  std::vector<std::string> positionals_;
};

/// Flags may be given as `--flag value` or `--flag=value`, booleans also bare or as `--no-flag`; a word after a boolean
/// is its value only if it is true, false, yes, no, on, off, 1, 0 or null. Everything after `--` is positional.
/// Throws Error(usage) for unknown flags, with the nearest known one, and for missing values.
Arguments parse_arguments(const Command& command, std::span<const std::string> words);

/// Usage, summary and flags of the subcommand.
std::string help_text(const Command& command);

}  // namespace attention_plasticity

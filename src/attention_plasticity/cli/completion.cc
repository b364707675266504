#include "attention_plasticity/cli/completion.h"
#include "attention_plasticity/cli/terminal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "attention_plasticity/cli/commands.h"
#include "attention_plasticity/cli/help.h"

namespace attention_plasticity {
namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

/// What may follow a flag, or stand as an argument.
struct Completed {
  std::vector<std::string> words;
  bool files = false;
};

// Text is mostly the name of a file or folder.
Completed value_of(const Field& flag) {
  if (flag.type == ValueType::word) return {split(flag.value_name, '|'), false};
  return {{}, flag.type == ValueType::text && flag.value_name != "NAME" && flag.value_name != "CONDITION"};
}

// Words with | between them, and names of files.
Completed arguments_of(const Command& command) {
  Completed all;
  for (const std::string& positional : split(command.positionals, ' ')) {
    if (positional.find('|') != std::string::npos) {
      all.words = split(positional, '|');
    } else {
      all.files = all.files || positional.find('/') == std::string::npos;  // ORG/NAME is not on disk
    }
  }
  return all;
}

// A boolean that is on is offered as the flag that turns it off.
std::string offered_name(const Field& flag) {
  return flag.is_boolean() && flag.default_text == "true" ? "no-" + flag.name : flag.name;
}

std::vector<std::string> offered_flags(const Command& command) {
  std::vector<std::string> flags;
  for (const Field& flag : command.flags) {
    if (const auto letter = short_flag(command, flag)) flags.push_back(fmt::format("-{}", *letter));
    flags.push_back("--" + offered_name(flag));
  }
  flags.emplace_back("--help");
  return flags;
}

std::string names_of(std::span<const Command> commands) {
  std::vector<std::string> names;
  names.reserve(commands.size());
  for (const Command& command : commands) names.push_back(command.name);
  return joined(names);
}

// Text between single quotes, as a shell reads it.
std::string in_quotes(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string bash_values(const Command& command) {
  std::string cases;
  for (const Field& flag : command.flags) {
    if (flag.is_boolean()) continue;
    const auto letter = short_flag(command, flag);
    const Completed value = value_of(flag);
    const std::string body =
        value.files ? "_attention_plasticity_files \"$current\""
                    : fmt::format("COMPREPLY=($(compgen -W {} -- \"$current\"))", in_quotes(joined(value.words)));
    cases +=
        fmt::format("        --{}{}) {}; return ;;\n", flag.name, letter ? fmt::format("|-{}", *letter) : "", body);
  }
  return cases;
}

std::string bash_case(const Command& command) {
  const Completed arguments = arguments_of(command);
  const std::string values = bash_values(command);
  std::string text = fmt::format("    {})\n", command.name);
  if (!values.empty()) text += fmt::format("      case $previous in\n{}      esac\n", values);
  text += fmt::format("      flags={}\n      words={}\n      files={} ;;\n", in_quotes(joined(offered_flags(command))),
                      in_quotes(joined(arguments.words)), arguments.files ? "yes" : "");
  return text;
}

// [, ], : and \ have a meaning in the specifications of _arguments.
std::string zsh_text(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string zsh_action(const Completed& completed) {
  if (!completed.words.empty()) return fmt::format("({})", joined(completed.words));
  return completed.files ? "_files" : " ";
}

std::string zsh_case(const Command& command) {
  std::string text = fmt::format("    {})\n      _arguments \\\n", command.name);
  for (const Field& flag : command.flags) {
    const std::string value =
        flag.is_boolean() ? "" : fmt::format(":{}:{}", zsh_text(flag.value_name), zsh_action(value_of(flag)));
    const std::string meaning = fmt::format("[{}]{}", zsh_text(flag.help), value);
    if (const auto letter = short_flag(command, flag)) {
      text += fmt::format("        {} \\\n", in_quotes(fmt::format("-{}{}", *letter, meaning)));
    }
    text += fmt::format("        {} \\\n", in_quotes(fmt::format("--{}{}", offered_name(flag), meaning)));
  }
  const Completed arguments = arguments_of(command);
  if (!arguments.words.empty()) {
    text += fmt::format("        {} \\\n", in_quotes("1:argument:" + zsh_action({arguments.words, false})));
  }
  if (arguments.files) text += fmt::format("        {} \\\n", in_quotes("*:file:_files"));
  return text + fmt::format("        {} ;;\n", in_quotes("--help[Explain this subcommand.]"));
}

std::string fish_line(const std::string& command, const std::string& rest) {
  return fmt::format("complete -c attention-plasticity -n '__fish_seen_subcommand_from {}' {}\n", command, rest);
}

std::string fish_case(const Command& command) {
  std::string text;
  for (const Field& flag : command.flags) {
    const Completed value = value_of(flag);
    std::string takes;
    if (!value.words.empty()) {
      takes = fmt::format(" -x -a {}", in_quotes(joined(value.words)));
    } else if (!flag.is_boolean()) {
      takes = value.files ? " -r -F" : " -x";
    }
    const auto letter = short_flag(command, flag);
    text += fish_line(command.name, fmt::format("{}-l {}{} -d {}", letter ? fmt::format("-s {} ", *letter) : "",
                                                offered_name(flag), takes, in_quotes(flag.help)));
  }
  const Completed arguments = arguments_of(command);
  if (!arguments.words.empty())
    text += fish_line(command.name, fmt::format("-a {}", in_quotes(joined(arguments.words))));
  if (arguments.files) text += fish_line(command.name, "-F");
  return text;
}

struct Shell {
  std::string_view name;
  std::string (*script)(std::span<const Command>);
};
constexpr std::array shells{Shell{"bash", bash_completion}, Shell{"zsh", zsh_completion},
                            Shell{"fish", fish_completion}};

}  // namespace

std::string bash_completion(std::span<const Command> commands) {
  std::string text =
      "# bash completion of attention-plasticity; printed by `attention-plasticity completion bash`.\n"
      "_attention_plasticity_files() {\n"
      "  local IFS=$'\\n'  # a name may have blanks\n"
      "  COMPREPLY+=($(compgen -f -- \"$1\"))\n"
      "}\n"
      "_attention_plasticity() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} flags words files\n"
      "  COMPREPLY=()\n"
      "  # bash takes the = of --flag=value for a word of its own.\n"
      "  if [[ $current == = ]]; then current=; elif [[ $previous == = ]]; then previous=${COMP_WORDS[COMP_CWORD-2]}; "
      "fi\n"
      "  # Dashes may stand for underscores.\n"
      "  if [[ $previous == --?* ]]; then previous=${previous#--}; previous=--${previous//-/_}; fi\n"
      "  if ((COMP_CWORD == 1)); then\n";
  text += fmt::format("    COMPREPLY=($(compgen -W {} -- \"$current\"))\n    return\n  fi\n",
                      in_quotes(names_of(commands) + " help --help --version"));
  text += "  case ${COMP_WORDS[1]} in\n";
  for (const Command& command : commands) text += bash_case(command);
  text += fmt::format("    help) words={} ;;\n  esac\n", in_quotes(names_of(commands)));
  text +=
      "  if [[ $current == -* ]]; then\n"
      "    if [[ ${current#--} == *-* && $current != --no-* ]]; then flags=${flags//_/-}; fi\n"
      "    COMPREPLY=($(compgen -W \"$flags\" -- \"$current\"))\n"
      "  else\n"
      "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "    if [[ -n $files ]]; then _attention_plasticity_files \"$current\"; fi\n"
      "  fi\n"
      "}\n"
      "complete -o filenames -F _attention_plasticity attention-plasticity\n";
  return text;
}

std::string zsh_completion(std::span<const Command> commands) {
  std::string text =
      "#compdef attention-plasticity\n"
      "# zsh completion of attention-plasticity; printed by `attention-plasticity completion zsh`.\n"
      "_attention_plasticity() {\n"
      "  local -a subcommands=(\n";
  for (const Command& command : commands) {
    text +=
        fmt::format("    {}\n", in_quotes(fmt::format("{}:{}", command.name, zsh_text(first_summary_line(command)))));
  }
  text +=
      "  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe subcommand subcommands\n"
      "    return\n"
      "  fi\n"
      "  local subcommand=$words[2]\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $subcommand in\n";
  for (const Command& command : commands) text += zsh_case(command);
  return text +
         "    help) _describe subcommand subcommands ;;\n"
         "  esac\n"
         "}\n"
         "if [[ $funcstack[1] == _attention-plasticity ]]; then\n"
         "  _attention_plasticity \"$@\"\n"
         "else\n"
         "  compdef _attention_plasticity attention-plasticity\n"
         "fi\n";
}

std::string fish_completion(std::span<const Command> commands) {
  std::string text =
      "# fish completion of attention-plasticity; printed by `attention-plasticity completion fish`.\n"
      "complete -c attention-plasticity -f\n"
      "complete -c attention-plasticity -s h -l help -d 'Explain the program or a subcommand'\n"
      "complete -c attention-plasticity -n __fish_use_subcommand -s V -l version -d 'Print the version'\n";
  for (const Command& command : commands) {
    text += fmt::format("complete -c attention-plasticity -n __fish_use_subcommand -a {} -d {}\n", command.name,
                        in_quotes(first_summary_line(command)));
  }
  for (const Command& command : commands) text += fish_case(command);
  return text;
}

Command completion_command() {
  std::vector<std::string_view> names(shells.size());
  std::ranges::transform(shells, names.begin(), &Shell::name);
  return {"completion",
          fmt::format("{}", fmt::join(names, "|")),
          "Print the script that completes subcommands and flags in a shell.",
          {},
          {{"source <(attention-plasticity completion bash)", "Complete in this bash."}}};
}

int run_completion(const Arguments& arguments) {
  const std::string& name =
      arguments.only_positional("completion takes one shell: attention-plasticity completion bash|zsh|fish");
  std::vector<std::string_view> names(shells.size());
  std::ranges::transform(shells, names.begin(), &Shell::name);
  print(shells.at(word_index(name, names)).script(all_commands()));
  return 0;
}

}  // namespace attention_plasticity

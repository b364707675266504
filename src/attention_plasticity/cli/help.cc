#include "attention_plasticity/cli/help.h"

#include <fmt/format.h>

#include <algorithm>

#include "attention_plasticity/cli/commands.h"

namespace attention_plasticity {
namespace {

constexpr std::size_t widest_flag_column = 30;
constexpr std::size_t gap = 2;

// Columns of a text in UTF-8, if each character takes one.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x80U || byte >= 0xc0U;
  }));
}

// A flag that has no letter stands where the names of the others do.
std::string aligned_flag(const Command& command, const Field& flag) {
  return fmt::format("  {}{}", short_flag(command, flag) ? "" : "    ", spelled_flag(command, flag));
}

std::string entry(const std::string& name, std::string_view meaning, std::size_t column, std::size_t width) {
  std::string text = name;
  if (columns_of(name) + gap > column) {
    text += "\n" + wrapped(meaning, width, column);
  } else {
    text.append(column - columns_of(name), ' ');
    text += wrapped(meaning, width, column, column);
  }
  return text + "\n";
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent, std::size_t begins) {
  std::string lines(begins > 0 ? 0 : indent, ' ');
  std::size_t column = indent;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const std::size_t needed = columns_of(word) + (column > indent ? 1 : 0);
    if (column > indent && column + needed > width) {
      lines += "\n" + std::string(indent, ' ');
      column = indent;
    }
    if (column > indent) {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += columns_of(word);
    at = std::min(text.find_first_not_of(' ', end), text.size());
  }
  return lines;
}

std::vector<FlagGroup> flag_groups(const Command& command) {
  std::vector<FlagGroup> groups;
  const auto add = [&](const Field& flag) {
    const std::string name = flag.group.empty() ? "Flags" : flag.group;
    auto group = std::ranges::find(groups, name, &FlagGroup::name);
    if (group == groups.end()) group = groups.insert(groups.end(), {name, {}});
    group->flags.push_back(flag);
  };
  for (const Field& flag : command.flags) {
    if (flag.group.empty()) add(flag);
  }
  for (const Field& flag : command.flags) {
    if (!flag.group.empty()) add(flag);
  }
  return groups;
}

std::string spelled_flag(const Command& command, const Field& flag) {
  const std::optional<char> letter = short_flag(command, flag);
  return fmt::format("{}--{}{}{}", letter ? fmt::format("-{}, ", *letter) : "", flag.name,
                     flag.value_name.empty() ? "" : " ", flag.value_name);
}

std::string flag_meaning(const Field& flag) {
  std::string remarks;
  if (!flag.scope.empty()) remarks = "for " + flag.scope_text();
  if (!flag.default_text.empty()) {
    remarks += fmt::format("{}default: {}", remarks.empty() ? "" : "; ", flag.default_text);
  }
  return remarks.empty() ? flag.help : fmt::format("{} ({})", flag.help, remarks);
}

std::string first_summary_line(const Command& command) { return command.summary.substr(0, command.summary.find('\n')); }

std::string_view program_description() {
  return "Does the query decide which of two keys wins, or is the winner fixed beforehand? attention-plasticity "
         "measures it "
         "for every attention head of a model, from dumps of its queries and keys.";
}

std::string_view flag_rules() {
  return "A flag is typed --max_workers 4, --max-workers 4 or --max_workers=4. A boolean may stand alone, and "
         "--no-NAME "
         "turns it off. The word null unsets a value, and the last of a repeated flag counts.";
}

std::string help_text(const Command& command, std::size_t width) {
  const std::string usage =
      fmt::format("attention-plasticity {}{}{}{}", command.name, command.positionals.empty() ? "" : " ",
                  command.positionals, command.flags.empty() ? "" : " [--flag value]...");
  std::string text = fmt::format("Usage: {}\n\n{}\n", wrapped(usage, width, 7, 7), wrapped(command.summary, width, 0));
  std::size_t column = 0;
  for (const Field& flag : command.flags) {
    const std::size_t needed = aligned_flag(command, flag).size() + gap;
    if (needed <= widest_flag_column) column = std::max(column, needed);
  }
  for (const FlagGroup& group : flag_groups(command)) {
    text += fmt::format("\n{}:\n", group.name);
    for (const Field& flag : group.flags) {
      text += entry(aligned_flag(command, flag), flag_meaning(flag), column, width);
    }
  }
  if (!command.flags.empty()) text += "\n" + wrapped(flag_rules(), width, 0) + "\n";
  if (!command.examples.empty()) text += "\nExamples:\n";
  for (const Example& example : command.examples) {
    text += fmt::format("{}\n    {}\n", wrapped(example.meaning, width, 2), example.text);
  }
  return text;
}

std::string overview_text(std::span<const Command> commands, std::size_t width) {
  std::string text = wrapped(program_description(), width, 0) + "\n\nUsage: attention-plasticity SUBCOMMAND ...\n\n";
  std::size_t column = 0;
  for (const Command& command : commands) column = std::max(column, command.name.size() + 2 + gap);
  for (const Command& command : commands) {
    text += entry("  " + command.name, first_summary_line(command), column, width);
  }
  text += '\n';
  constexpr std::string_view helps[][2]{{"  SUBCOMMAND --help", "explains one of them"},
                                        {"  --help, -h", "prints this"},
                                        {"  --version, -V", "prints version, commit and compiler"}};
  for (const auto& [name, meaning] : helps) text += entry(std::string(name), meaning, 21, width);
  std::string codes = "Exit codes:";
  for (const ExitStatus& status : exit_statuses()) codes += fmt::format(" {} {},", status.code, status.meaning);
  codes.back() = '.';
  return text + "\n" + wrapped(codes, width, 0) + "\n";
}

}  // namespace attention_plasticity

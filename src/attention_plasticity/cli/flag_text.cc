#include "attention_plasticity/cli/flag_text.h"

#include <set>

#include "attention_plasticity/base/printable.h"
#include "attention_plasticity/cli/commands.h"
#include "attention_plasticity/cli/terminal.h"

namespace attention_plasticity {
namespace {

// The flags of all subcommands.
const std::set<std::string, std::less<>>& known_flags() {
  static const std::set<std::string, std::less<>> names = [] {
    std::set<std::string, std::less<>> all;
    for (const Command& command : all_commands()) {
      for (const Field& flag : command.flags) all.insert(flag.name);
    }
    return all;
  }();
  return names;
}

// The flag of a field, with its value after ": " if there is one; empty if there is no such flag.
std::string flag_of(std::string_view field) {
  const std::size_t colon = field.find(": ");
  const std::string_view name = field.substr(0, colon);
  if (!known_flags().contains(name)) return "";
  std::string flag = "--" + std::string(name);
  if (colon != std::string_view::npos) flag += " " + std::string(field.substr(colon + 2));
  return flag;
}

}  // namespace

std::string with_flags(std::string_view message) {
  std::string text;
  while (true) {
    const std::size_t open = message.find('`');
    const std::size_t close = open == std::string_view::npos ? open : message.find('`', open + 1);
    if (close == std::string_view::npos) return text.append(message);
    const std::string flag = flag_of(message.substr(open + 1, close - open - 1));
    text.append(message.substr(0, flag.empty() ? close + 1 : open)).append(flag);
    message.remove_prefix(close + 1);
  }
}

void tell_line(std::string_view message) { tell(printable_text(with_flags(message)) + "\n"); }

}  // namespace attention_plasticity

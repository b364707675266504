#include "attention_plasticity/cli/arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "attention_plasticity/base/error.h"
#include "attention_plasticity/base/nearest_name.h"
#include "attention_plasticity/run/config_value.h"

namespace attention_plasticity {
namespace {

const Flag* find_flag(const Command& command, std::string name) {
  std::ranges::replace(name, '-', '_');
  const auto found = std::ranges::find(command.flags, name, &Flag::name);
  return found == command.flags.end() ? nullptr : &*found;
}

[[noreturn]] void refuse_unknown(const Command& command, const std::string& typed, std::string_view name) {
  std::vector<std::string_view> names(command.flags.size());
  std::ranges::transform(command.flags, names.begin(), &Flag::name);
  const std::optional<std::string> nearest = nearest_name(name, names);
  throw Error(ErrorKind::usage,
              fmt::format("{}: unknown flag; {}", typed,
                          nearest ? fmt::format("did you mean --{}?", *nearest)
                                  : fmt::format("`attention-plasticity {} --help` lists them all", command.name)));
}

// `--flag` or `--flag=value` taken apart.
struct Word {
  std::string typed;
  std::string name;
  std::optional<std::string> value;
};

Word take_apart(const std::string& word) {
  const std::size_t equals = word.find('=');
  Word parts{word.substr(0, equals), word.substr(2, equals == std::string::npos ? equals : equals - 2), {}};
  if (equals != std::string::npos) parts.value = word.substr(equals + 1);
  return parts;
}

// The flag that a word names. `--no-flag` of a boolean gives it the value false.
const Flag& resolve(const Command& command, Word& word) {
  if (const Flag* flag = find_flag(command, word.name)) return *flag;
  if (!word.value && (word.name.starts_with("no-") || word.name.starts_with("no_"))) {
    const Flag* flag = find_flag(command, word.name.substr(3));
    if (flag != nullptr && flag->is_boolean()) {
      word.value = "false";
      return *flag;
    }
  }
  refuse_unknown(command, word.typed, word.name);
}

}  // namespace

std::optional<std::string> Arguments::value(std::string_view flag) const {
  const auto last =
      std::find_if(flags_.rbegin(), flags_.rend(), [&](const Given& given) { return given.flag == flag; });
  if (last == flags_.rend() || last->value == "null") return std::nullopt;
  return last->value;
}

bool Arguments::is_on(std::string_view flag, bool otherwise) const {
  const std::optional<std::string> word = value(flag);
  if (!word) return otherwise;
  if (const auto on = boolean_word(*word)) return *on;
  throw Error(ErrorKind::usage, fmt::format("--{}: '{}' is neither true nor false", flag, *word));
}

Arguments parse_arguments(const Command& command, std::span<const std::string> words) {
  Arguments arguments;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") {
      arguments.positionals_.insert(arguments.positionals_.end(), words.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                    words.end());
      break;
    }
    if (!word.starts_with('-') || word == "-") {
      arguments.positionals_.push_back(word);
      continue;
    }
    if (!word.starts_with("--"))
      throw Error(ErrorKind::usage, fmt::format("{}: unknown flag; flags begin with --", word));
    Word parts = take_apart(word);
    const Flag& flag = resolve(command, parts);
    const bool has_next = i + 1 < words.size();
    if (!parts.value && flag.is_boolean()) {
      parts.value = has_next && (words[i + 1] == "null" || boolean_word(words[i + 1])) ? words[++i] : "true";
    } else if (!parts.value) {
      if (!has_next) throw Error(ErrorKind::usage, fmt::format("{}: needs a value: {}", parts.typed, flag.value));
      parts.value = words[++i];
    }
    arguments.flags_.push_back({flag.name, parts.typed, *parts.value});
  }
  return arguments;
}

std::string help_text(const Command& command) {
  std::string text = fmt::format("Usage: attention-plasticity {}{}{} [--flag value]...\n\n{}\n\nFlags:\n", command.name,
                                 command.positionals.empty() ? "" : " ", command.positionals, command.summary);
  std::size_t widest = 0;
  const auto spelled = [](const Flag& flag) {
    return fmt::format("--{}{}{}", flag.name, flag.value.empty() ? "" : " ", flag.value);
  };
  for (const Flag& flag : command.flags) widest = std::max(widest, spelled(flag).size());
  for (const Flag& flag : command.flags) text += fmt::format("  {:<{}}  {}\n", spelled(flag), widest, flag.help);
  return text;
}

}  // namespace attention_plasticity

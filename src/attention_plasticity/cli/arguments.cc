#include "attention_plasticity/cli/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/settings/yaml_settings.h"

namespace attention_plasticity {
namespace {

const Field* find_flag(const Command& command, std::string name) {
  std::ranges::replace(name, '-', '_');
  return find_field(command.flags, name);
}

// A subcommand has the first of several flags with the same letter.
struct ShortFlag {
  char letter;
  std::string_view name;
};
constexpr std::array short_flags{ShortFlag{'q', "quiet"}, ShortFlag{'o', "output"}, ShortFlag{'o', "output_dir"}};

// The flag that a letter is short for; none: there is none.
const Field* flag_of_letter(const Command& command, char letter) {
  for (const ShortFlag& known : short_flags) {
    const Field* flag = known.letter == letter ? find_field(command.flags, known.name) : nullptr;
    if (flag != nullptr) return flag;
  }
  return nullptr;
}

[[noreturn]] void refuse_flag(const Command& command, const std::string& typed, const std::string& suggestion = {}) {
  throw Error(
      ErrorKind::usage,
      fmt::format("{}: unknown flag{}", typed,
                  suggestion.empty() ? fmt::format("; `attention-plasticity {} --help` lists them all", command.name)
                                     : suggestion));
}

// The parts of `--flag` or `--flag=value`.
struct Word {
  std::string typed;
  std::string name;
  std::optional<std::string> value;
};

Word parts_of(const std::string& word) {
  const std::size_t equals = word.find('=');
  Word parts{word.substr(0, equals), word.substr(2, equals == std::string::npos ? equals : equals - 2), {}};
  if (equals != std::string::npos) parts.value = word.substr(equals + 1);
  return parts;
}

// The flag that a word names. `--no-flag` gives a boolean the value false.
const Field& named_flag(const Command& command, Word& word) {
  if (const Field* flag = find_flag(command, word.name)) return *flag;
  if (!word.value && (word.name.starts_with("no-") || word.name.starts_with("no_"))) {
    const Field* flag = find_flag(command, word.name.substr(3));
    if (flag != nullptr && flag->is_boolean()) {
      word.value = "false";
      return *flag;
    }
  }
  refuse_flag(command, word.typed, field_suggestion(word.name, "--", command.flags));
}

// The flag of `-q` or `-o`. A value is never joined to the letter: -output_dir would then mean -o utput_dir.
const Field& short_flag_of(const Command& command, const std::string& word) {
  const Field* flag = word.size() == 2 ? flag_of_letter(command, word[1]) : nullptr;
  if (flag != nullptr) return *flag;
  const std::string name = word.substr(1, word.find('=') - 1);
  refuse_flag(command, word, word.size() > 2 ? field_suggestion(name, "--", command.flags) : "");
}

}  // namespace

std::optional<std::string> Arguments::value(std::string_view flag) const {
  const auto last =
      std::find_if(flags.rbegin(), flags.rend(), [&](const Setting& given) { return given.field == flag; });
  return last == flags.rend() ? std::nullopt : last->value;
}

const std::string& Arguments::only_positional(const std::string& message) const {
  if (positionals.size() != 1) throw Error(ErrorKind::usage, message);
  return positionals.front();
}

void Arguments::refuse_positionals(std::string_view message) const {
  if (positionals.empty()) return;
  throw Error(ErrorKind::usage, fmt::format("{}: {}", shown_text(positionals.front()), message));
}

std::optional<char> short_flag(const Command& command, const Field& flag) {
  for (const ShortFlag& known : short_flags) {
    if (known.name != flag.name) continue;
    const Field* of_letter = flag_of_letter(command, known.letter);
    if (of_letter != nullptr && of_letter->name == flag.name) return known.letter;
  }
  return std::nullopt;
}

Arguments parse_arguments(const Command& command, std::span<const std::string> words) {
  Arguments arguments;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") {
      const auto rest = words.subspan(i + 1);
      arguments.positionals.insert(arguments.positionals.end(), rest.begin(), rest.end());
      break;
    }
    if (!word.starts_with('-') || word == "-") {
      arguments.positionals.push_back(word);
      continue;
    }
    const bool is_short = !word.starts_with("--");
    Word parts = is_short ? Word{word, "", {}} : parts_of(word);
    const Field& flag = is_short ? short_flag_of(command, word) : named_flag(command, parts);
    const bool has_next = i + 1 < words.size();
    if (!parts.value && flag.is_boolean()) {
      const bool takes_next = !is_short && has_next && (words[i + 1] == "null" || boolean_word(words[i + 1]));
      parts.value = takes_next ? words[++i] : "true";
    } else if (!parts.value) {
      if (!has_next) throw Error(ErrorKind::usage, fmt::format("{}: needs a value: {}", parts.typed, flag.value_name));
      parts.value = words[++i];
    }
    if (parts.value == "null") parts.value.reset();
    arguments.flags.push_back({flag.name, parts.value, parts.typed});
  }
  return arguments;
}

Field config_flag(std::string help) { return {"config", ValueType::text, "FILE", std::move(help), {}, {}}; }

std::vector<Setting> configured_settings(const Arguments& arguments, const std::vector<Field>& fields) {
  std::vector<Setting> settings;
  if (const auto file = arguments.value("config")) settings = read_yaml_settings(*file, fields);
  for (const Setting& flag : arguments.flags) {
    if (find_field(fields, flag.field) != nullptr) settings.push_back(flag);
  }
  return settings;
}

}  // namespace attention_plasticity

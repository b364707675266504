#include "attention_plasticity/cli/resume_command.h"

#include <fmt/format.h>

#include <string_view>

#include "attention_plasticity/store/store_address.h"

namespace attention_plasticity {
namespace {

// A word as it is typed in a shell.
std::string shell_word(const std::string& word) {
  constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:=,@%+-";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char letter : word) quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return quoted + "'";
}

}  // namespace

std::string resume_command(const Arguments& arguments) {
  std::string command = "attention-plasticity analyze";
  for (const Setting& flag : arguments.flags) {
    if (flag.field == "resume") continue;
    command += fmt::format(" --{} {}", flag.field, shell_word(without_credentials(flag.value.value_or("null"))));
  }
  return command + " --resume";
}

}  // namespace attention_plasticity

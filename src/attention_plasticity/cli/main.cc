#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "attention_plasticity/base/nearest_name.h"
#include "attention_plasticity/cli/commands.h"
#include "attention_plasticity/cli/flag_text.h"
#include "attention_plasticity/cli/help.h"
#include "attention_plasticity/cli/signals.h"
#include "attention_plasticity/cli/terminal.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/store/store.h"
#include "attention_plasticity/version.h"

namespace attention_plasticity {
namespace {

std::string version_line() {
  const ProgramVersion program = program_version();
  return fmt::format("attention-plasticity {} ({}, {}, {})\n", program.version, program.commit, program.compiler,
                     program.simd);
}

const Subcommand& find_subcommand(const std::string& name) {
  std::vector<std::string> names;
  for (const Subcommand& subcommand : subcommands()) {
    names.push_back(subcommand.command().name);
    if (names.back() == name) return subcommand;
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  const auto nearest = nearest_name(name, views);
  throw Error(ErrorKind::usage, fmt::format("{}: unknown subcommand; {}", name,
                                            nearest ? fmt::format("did you mean {}?", *nearest)
                                                    : "`attention-plasticity --help` lists them all"));
}

bool asks_for_help(const std::string& word) { return word == "--help" || word == "-h"; }

int print_help(const Subcommand& subcommand) {
  print(help_text(subcommand.command(), help_width()));
  return 0;
}

int dispatch(const std::vector<std::string>& words) {
  if (words.empty()) {
    tell(overview_text(all_commands(), help_width()));
    return exit_code(ErrorKind::usage);
  }
  if (words[0] == "help" && words.size() > 1 && !asks_for_help(words[1])) return print_help(find_subcommand(words[1]));
  if (asks_for_help(words[0]) || words[0] == "help") {
    print(overview_text(all_commands(), help_width()));
    return 0;
  }
  if (words[0] == "--version" || words[0] == "-V") {
    print(version_line());
    return 0;
  }
  const Subcommand& subcommand = find_subcommand(words[0]);
  const std::span<const std::string> rest(words.begin() + 1, words.end());
  if (std::ranges::any_of(rest, asks_for_help)) return print_help(subcommand);
  return subcommand.run(parse_arguments(subcommand.command(), rest));
}

int report(const std::string& file, const std::string& message, int code) {
  const std::string line =
      fmt::format("attention-plasticity: {}{}{}", file, file.empty() ? "" : ": ", with_flags(message));
  tell_failure(line, Terminal::of_standard_error());
  return code;
}

// Reports the exception that is being handled, and returns its exit code.
int report_failure() {
  try {
    throw;
  } catch (const Error& error) {
    return report(error.file(), error.what(), exit_code(error.kind()));
  } catch (const std::bad_alloc&) {
    return report("", "there is not enough memory; pass fewer --max_workers, or a --memory_limit",
                  exit_code(ErrorKind::input));
  } catch (const std::exception& error) {
    return std::ferror(stdout) == 0 ? report("", error.what(), exit_code(ErrorKind::input)) : 0;
  }
}

}  // namespace
}  // namespace attention_plasticity

int main(int argc, char** argv) {
  namespace ap = attention_plasticity;
  ap::prepare_standard_streams();
  const ap::StoreSession stores;  // nothing exits past it
  int code = 0;
  try {
    code = ap::dispatch({argv + 1, argv + argc});
  } catch (...) {
    code = ap::report_failure();
  }
  // A full disk or a closed pipe is noticed while printing, or when the rest is flushed.
  const bool flushed = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (!flushed && code <= ap::some_heads_failed) {
    if (ap::is_reader_gone()) return 128 + SIGPIPE;
    code = ap::report("", "cannot write to standard output: it is closed, the disk is full, or the reader is gone",
                      ap::exit_code(ap::ErrorKind::output));
  }
  return code;
}

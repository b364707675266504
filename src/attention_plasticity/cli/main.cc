#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "attention_plasticity/base/nearest_name.h"
#include "attention_plasticity/cli/commands.h"
#include "attention_plasticity/cli/flag_text.h"
#include "attention_plasticity/cli/terminal.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/version.h"

namespace attention_plasticity {
namespace {

constexpr std::array subcommands{
    Subcommand{analyze_command, run_analyze}, Subcommand{download_command, run_download},
    Subcommand{inspect_command, run_inspect}, Subcommand{plan_command, run_plan},
    Subcommand{plot_command, run_plot},       Subcommand{report_command, run_report},
    Subcommand{synth_command, run_synth},     Subcommand{validate_command, run_validate},
};

std::string overview() {
  std::string text =
      "attention-plasticity: does the query decide which of two keys wins, or is the winner fixed beforehand?\n\n"
      "Usage: attention-plasticity SUBCOMMAND ...\n\n";
  for (const Subcommand& subcommand : subcommands) {
    const Command command = subcommand.command();
    text += fmt::format("  {:<8}  {}\n", command.name, command.summary.substr(0, command.summary.find('\n')));
  }
  return text +
         "\n  attention-plasticity SUBCOMMAND --help  explains one of them\n"
         "  attention-plasticity --version          prints version, commit and compiler\n\n"
         "Exit codes: 0 all done, 1 some heads failed, 2 wrong use, 3 unusable input, 4 no such dataset or no access,\n"
         "5 network, 6 output not written, 130 or 143 interrupted.\n";
}

std::string version_line() {
  const ProgramVersion program = program_version();
  return fmt::format("attention-plasticity {} ({}, {}, {})\n", program.version, program.commit, program.compiler,
                     program.simd);
}

const Subcommand& find_subcommand(const std::string& name) {
  std::vector<std::string> names;
  for (const Subcommand& subcommand : subcommands) {
    names.push_back(subcommand.command().name);
    if (names.back() == name) return subcommand;
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  const auto nearest = nearest_name(name, views);
  throw Error(ErrorKind::usage, fmt::format("{}: unknown subcommand; {}", name,
                                            nearest ? fmt::format("did you mean {}?", *nearest)
                                                    : "`attention-plasticity --help` lists them all"));
}

int dispatch(const std::vector<std::string>& words) {
  if (words.empty()) {
    tell(overview());
    return exit_code(ErrorKind::usage);
  }
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    fmt::print("{}", overview());
    return 0;
  }
  if (words[0] == "--version") {
    fmt::print("{}", version_line());
    return 0;
  }
  const Subcommand& subcommand = find_subcommand(words[0]);
  const Command command = subcommand.command();
  const std::span<const std::string> rest(words.begin() + 1, words.end());
  if (std::ranges::any_of(rest, [](const std::string& word) { return word == "--help" || word == "-h"; })) {
    fmt::print("{}", help_text(command));
    return 0;
  }
  return subcommand.run(parse_arguments(command, rest));
}

int report(const std::string& file, const std::string& message, int code) {
  const std::string line =
      fmt::format("attention-plasticity: {}{}{}", file, file.empty() ? "" : ": ", with_flags(message));
  tell(in_red(line, Terminal::of_standard_error()) + "\n");
  return code;
}

}  // namespace
}  // namespace attention_plasticity

int main(int argc, char** argv) {
  namespace ap = attention_plasticity;
  int code = 0;
  try {
    code = ap::dispatch({argv + 1, argv + argc});
  } catch (const ap::Error& error) {
    code = ap::report(error.file(), error.what(), ap::exit_code(error.kind()));
  } catch (const std::exception& error) {
    if (std::ferror(stdout) == 0) code = ap::report("", error.what(), ap::exit_code(ap::ErrorKind::input));
  }
  // A full disk or a closed pipe is noticed while printing, or when the rest is flushed.
  const bool flushed = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (!flushed && code <= ap::some_heads_failed) {
    code = ap::report("", "cannot write to standard output: the disk is full or the reader is gone",
                      ap::exit_code(ap::ErrorKind::output));
  }
  return code;
}

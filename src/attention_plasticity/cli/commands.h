#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "attention_plasticity/cli/arguments.h"

namespace attention_plasticity {

/// The exit code when some heads failed and the others are done. Other exit codes come with an ErrorKind.
inline constexpr int some_heads_failed = 1;

/// A subcommand: its flags and help, and the function that runs it. `run` returns the exit code and throws failures.
struct Subcommand {
  Command (*command)();
  int (*run)(const Arguments& arguments);
};

/// All subcommands, in the order of their names.
std::span<const Subcommand> subcommands();
std::vector<Command> all_commands();

/// An exit code of the program and what it means.
struct ExitStatus {
  std::string_view code;
  std::string_view meaning;
};
std::span<const ExitStatus> exit_statuses();

Command analyze_command();
int run_analyze(const Arguments& arguments);

Command capture_command();
int run_capture(const Arguments& arguments);

Command compare_command();
int run_compare(const Arguments& arguments);

Command completion_command();
int run_completion(const Arguments& arguments);

Command download_command();
int run_download(const Arguments& arguments);

Command evaluate_command();
int run_evaluate(const Arguments& arguments);

Command inspect_command();
int run_inspect(const Arguments& arguments);

Command man_command();
int run_man(const Arguments& arguments);

Command merge_command();
int run_merge(const Arguments& arguments);

Command plan_command();
int run_plan(const Arguments& arguments);

Command plot_command();
int run_plot(const Arguments& arguments);

Command report_command();
int run_report(const Arguments& arguments);

Command study_command();
int run_study(const Arguments& arguments);

Command sweep_command();
int run_sweep(const Arguments& arguments);

Command synth_command();
int run_synth(const Arguments& arguments);

Command validate_command();
int run_validate(const Arguments& arguments);

}  // namespace attention_plasticity

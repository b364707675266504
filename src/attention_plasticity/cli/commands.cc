#include "attention_plasticity/cli/commands.h"

#include <array>

namespace attention_plasticity {

std::span<const Subcommand> subcommands() {
  static constexpr std::array all{
      Subcommand{analyze_command, run_analyze},   Subcommand{capture_command, run_capture},
      Subcommand{compare_command, run_compare},   Subcommand{completion_command, run_completion},
      Subcommand{download_command, run_download}, Subcommand{evaluate_command, run_evaluate},
      Subcommand{inspect_command, run_inspect},   Subcommand{man_command, run_man},
      Subcommand{merge_command, run_merge},       Subcommand{plan_command, run_plan},
      Subcommand{plot_command, run_plot},         Subcommand{report_command, run_report},
      Subcommand{study_command, run_study},       Subcommand{sweep_command, run_sweep},
      Subcommand{synth_command, run_synth},       Subcommand{validate_command, run_validate},
  };
  return all;
}

std::vector<Command> all_commands() {
  std::vector<Command> commands;
  commands.reserve(subcommands().size());
  for (const Subcommand& subcommand : subcommands()) commands.push_back(subcommand.command());
  return commands;
}

std::span<const ExitStatus> exit_statuses() {
  static constexpr std::array all{
      ExitStatus{"0", "all done"},
      ExitStatus{"1", "some heads, or runs of a sweep, failed"},
      ExitStatus{"2", "wrong use"},
      ExitStatus{"3", "unusable input"},
      ExitStatus{"4", "no such dataset or no access"},
      ExitStatus{"5", "network"},
      ExitStatus{"6", "output not written"},
      ExitStatus{"130 or 143", "interrupted"},
  };
  return all;
}

}  // namespace attention_plasticity

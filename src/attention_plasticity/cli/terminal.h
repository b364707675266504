#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace attention_plasticity {

/// What standard error is connected to, and what it can show.
struct Terminal {
  bool is_terminal = false;  ///< a line can be redrawn
  bool color = false;        ///< it is a terminal, and NO_COLOR is not set

  static Terminal of_standard_error();
};

/// Moves to the first column and clears the line.
inline constexpr std::string_view clear_line = "\r\x1b[K";

/// Columns of the terminal on standard error; 80 when unknown.
std::size_t terminal_width();

/// Columns for help on standard output: those of its terminal, from 40 to 120; 80 when it is no terminal.
std::size_t help_width();

/// Writes `text` to standard error. Failures are ignored: a log on a full disk must not end a run, and there is no
/// other place to report them. Only when its reader is gone, the program gets SIGPIPE (cli/signals.h).
void tell(std::string_view text);

/// `text` in red if the terminal shows colors.
std::string in_red(std::string_view text, const Terminal& terminal);

}  // namespace attention_plasticity

#pragma once

#include <cstddef>
#include <string_view>

namespace attention_plasticity {

/// What standard error is connected to, and what it can show.
struct Terminal {
  bool is_terminal = false;  ///< a line can be redrawn
  bool color = false;        ///< it is a terminal, and NO_COLOR is not set

  static Terminal of_standard_error();
};

/// Columns of the terminal on standard error; 80 when unknown.
std::size_t terminal_width();

/// Columns for help on standard output: those of its terminal, from 40 to 120; 80 when it is no terminal.
std::size_t help_width();

// All that the program writes to its two streams passes through these functions, which make it printable
// (base/printable.h) and take credentials out of addresses (base/address_secrets.h): names in data must not reach a
// terminal raw, nor secrets a log.

/// Writes `text` to standard output, whole lines or parts of them. Failures are noticed when the program ends.
void print(std::string_view text);

/// Writes `text` to standard error. Failures are ignored: a log on a full disk must not end a run, and there is no
/// other place to report them. Only when its reader is gone, the program gets SIGPIPE (cli/signals.h).
void tell(std::string_view text);

/// The same for one line, in red if the terminal shows colors.
void tell_failure(std::string_view line, const Terminal& terminal);

/// Draws `line` over the line of the terminal on standard error that the cursor stands on. Empty: clears it.
void redraw(std::string_view line);

}  // namespace attention_plasticity

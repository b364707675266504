#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace attention_plasticity {

/// What standard error is connected to, and what may be shown there.
struct Terminal {
  bool is_terminal = false;  ///< redrawing a line makes sense
  bool color = false;        ///< a terminal, and the user has not set NO_COLOR

  static Terminal of_standard_error();
};

/// Moves to the first column and clears the line.
inline constexpr std::string_view clear_line = "\r\x1b[K";

/// Columns of the terminal on standard error; 80 where that is unknown.
std::size_t terminal_width();

/// Writes `text` to standard error as it stands. What cannot be written there is lost: a full disk under a log must not
/// end a run, and there is nowhere left to tell.
void tell(std::string_view text);

/// `text` in red, where colors are shown.
std::string in_red(std::string_view text, const Terminal& terminal);

}  // namespace attention_plasticity

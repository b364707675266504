#include "attention_plasticity/cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "attention_plasticity/base/address_secrets.h"
#include "attention_plasticity/base/printable.h"

namespace attention_plasticity {

Terminal Terminal::of_standard_error() {
  const char* term = std::getenv("TERM");
  const bool dumb = term != nullptr && std::string_view(term) == "dumb";
  const char* no_color = std::getenv("NO_COLOR");
  const bool is_terminal = ::isatty(STDERR_FILENO) == 1 && !dumb;
  return {is_terminal, is_terminal && (no_color == nullptr || *no_color == '\0')};
}

std::size_t terminal_width() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

std::size_t help_width() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return std::clamp<std::size_t>(size.ws_col, 40, 120);
}

namespace {

void write_to_standard_error(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stderr) == text.size() && std::fflush(stderr) == 0;
  // With SIGPIPE blocked, as it is during a run, the system sends it to this thread alone, where nobody waits for it.
  if (!written && errno == EPIPE) ::kill(::getpid(), SIGPIPE);
}

}  // namespace

void print(std::string_view text) {
  const std::string shown = printable_lines(without_address_secrets(text));
  std::fwrite(shown.data(), 1, shown.size(), stdout);
}

void tell(std::string_view text) { write_to_standard_error(printable_lines(without_address_secrets(text))); }

void tell_failure(std::string_view line, const Terminal& terminal) {
  const std::string shown = printable_text(without_address_secrets(line));
  write_to_standard_error(terminal.color ? fmt::format("\x1b[31m{}\x1b[0m\n", shown) : shown + "\n");
}

void redraw(std::string_view line) {
  // Moves to the first column, and clears what is left of the line.
  write_to_standard_error(fmt::format("\r{}\x1b[K", printable_text(without_address_secrets(line))));
}

}  // namespace attention_plasticity

#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>

#include "attention_plasticity/cli/terminal.h"

namespace attention_plasticity {

/// How much is printed while work goes on.
enum class Verbosity {
  quiet,  ///< failures and warnings only
  plain,  ///< a line for each item
  bar,    ///< one line that is redrawn, with rate and time left; failures and notes stand above it
};

/// Quiet if the user wants it. Otherwise a bar if the user wants one and `terminal` can redraw it, else plain lines.
Verbosity verbosity_of(bool quiet, bool bar, const Terminal& terminal);

/// Progress over a known number of items, on standard error. Thread-safe.
class Progress {
 public:
  Progress(Verbosity verbosity, const Terminal& terminal, std::string unit);
  /// Clears the bar.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// One more item has ended; `line` describes it, and is shown in plain mode.
  void advance(std::size_t ended, std::size_t total, const std::string& line);
  /// Text behind the bar about other work in parallel; empty: none.
  void set_status(const std::string& status);
  /// Draws the bar of work that is not counted in items: `share` of it, in [0, 1], is done.
  void show(double share, const std::string& figures);
  /// A line about such work; shown in plain mode.
  void line(const std::string& text);
  /// Shown at every verbosity.
  void failure(const std::string& line);
  /// Shown at every verbosity, after "warning: ".
  void warning(const std::string& line);
  /// Shown unless quiet.
  void note(const std::string& line);

 private:
  using Clock = std::chrono::steady_clock;
  /// Does nothing shortly after the previous drawing, unless `is_last`.
  void draw(bool is_last);
  void erase();

  Verbosity verbosity_;
  Terminal terminal_;
  std::string unit_;
  Clock::time_point start_ = Clock::now();

  std::mutex mutex_;  // protects what follows, and standard error
  Clock::time_point last_drawn_;
  double share_ = 0;
  std::string figures_;
  std::string status_;
  std::string bar_;  // as drawn on the screen; empty: there is none
};

/// [####------] figures, in less than `width` columns. Where there is little space, the bar is left out first.
std::string bar_line(double share, const std::string& figures, std::size_t width);

/// A duration in minutes and seconds, or hours: 0:03, 1:06:40.
std::string duration_text(double seconds);

/// Such as "23/60 heads, 12.3/s, 0:03 left".
std::string progress_figures(std::size_t ended, std::size_t total, double seconds, const std::string& unit);

}  // namespace attention_plasticity

#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>

#include "attention_plasticity/cli/terminal.h"

namespace attention_plasticity {

/// How much is told while work goes on.
enum class Verbosity {
  quiet,  ///< failures only
  plain,  ///< a line for each item
  bar,    ///< one line, redrawn, with rate and time left; failures and notes above it
};

/// Progress over a known number of items, on standard error. Threads may share it.
class Progress {
 public:
  Progress(Verbosity verbosity, const Terminal& terminal, std::string unit);
  /// Leaves no bar behind.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `line` tells of one item; shown in plain mode.
  void advance(std::size_t ended, std::size_t total, const std::string& line);
  /// What stands behind the bar, of other work that goes on beside; empty: nothing does.
  void set_status(const std::string& status);
  /// The bar of work that is not counted in items: how much of it is done, and its figures.
  void show(double share, const std::string& figures);
  /// A line of such work; shown in plain mode.
  void tell_of(const std::string& line);
  /// Shown at every verbosity.
  void failure(const std::string& line);
  /// Shown unless quiet.
  void note(const std::string& line);

 private:
  using Clock = std::chrono::steady_clock;
  /// Not too often, unless it is the last time.
  void draw(bool is_last);
  void erase();

  Verbosity verbosity_;
  Terminal terminal_;
  std::string unit_;
  Clock::time_point start_ = Clock::now();

  std::mutex mutex_;  // of all below, and of standard error
  Clock::time_point last_drawn_;
  double share_ = 0;
  std::string figures_;
  std::string status_;
  std::string bar_;  // as it stands on the screen; empty: none does
};

/// [####------] figures, in less than `width` columns: the bar gives way first.
std::string bar_line(double share, const std::string& figures, std::size_t width);

/// How long something takes: 0:03, 1:06:40.
std::string duration_text(double seconds);

/// 23/60 heads, 12.3/s, 0:03 left.
std::string progress_figures(std::size_t ended, std::size_t total, double seconds, const std::string& unit);

}  // namespace attention_plasticity

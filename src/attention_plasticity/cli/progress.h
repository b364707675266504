#pragma once

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>

#include "attention_plasticity/cli/terminal.h"

namespace attention_plasticity {

/// How much is told while work goes on.
enum class Verbosity {
  quiet,  ///< failures only
  plain,  ///< a line for each item
  bar,    ///< one line, redrawn, with rate and time left; failures and notes above it
};

/// Progress over a known number of items, on standard error. Calls must not overlap.
class Progress {
 public:
  Progress(Verbosity verbosity, const Terminal& terminal, std::string unit);
  /// Leaves no bar behind.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `line` tells of one item; shown in plain mode.
  void advance(std::size_t ended, std::size_t total, const std::string& line);
  /// Shown at every verbosity.
  void failure(const std::string& line);
  /// Shown unless quiet.
  void note(const std::string& line);

 private:
  using Clock = std::chrono::steady_clock;
  void draw(std::size_t ended, std::size_t total);
  void erase();

  Verbosity verbosity_;
  Terminal terminal_;
  std::string unit_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_drawn_;
  std::string bar_;  // as it stands on the screen; empty: none does
};

/// The line of a bar of `width` columns: [####------] 23/60 heads, 12.3/s, 0:03 left.
std::string progress_bar(std::size_t ended, std::size_t total, double seconds, std::size_t width,
                         const std::string& unit);

}  // namespace attention_plasticity

#include "attention_plasticity/cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attention_plasticity/cli/flag_text.h"

namespace attention_plasticity {
namespace {

constexpr auto between_drawings = std::chrono::milliseconds(100);
constexpr std::size_t narrowest_bar = 10;
constexpr std::size_t widest_bar = 40;

}  // namespace

Verbosity verbosity_of(bool quiet, bool bar, const Terminal& terminal) {
  if (quiet) return Verbosity::quiet;
  return bar && terminal.is_terminal ? Verbosity::bar : Verbosity::plain;
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<long long>(std::ceil(seconds));
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string progress_figures(std::size_t ended, std::size_t total, double seconds, const std::string& unit) {
  const double rate = seconds > 0 ? static_cast<double>(ended) / seconds : 0;
  std::string figures = fmt::format("{}/{} {}", ended, total, unit);
  if (rate > 0) {
    figures += fmt::format(", {:.{}f}/s, {} left", rate, rate < 10 ? 1 : 0,
                           duration_text(static_cast<double>(total - ended) / rate));
  }
  return figures;
}

std::string bar_line(double share, const std::string& figures, std::size_t width) {
  if (width < figures.size() + narrowest_bar + 4) return figures.substr(0, width > 1 ? width - 1 : 0);
  const std::size_t cells = std::min(widest_bar, width - figures.size() - 4);
  const auto filled = static_cast<std::size_t>(static_cast<double>(cells) * std::clamp(share, 0.0, 1.0));
  return fmt::format("[{:#<{}}{:-<{}}] {}", "", filled, "", cells - filled, figures);
}

Progress::Progress(Verbosity verbosity, const Terminal& terminal, std::string unit)
    : verbosity_(verbosity), terminal_(terminal), unit_(std::move(unit)) {}

Progress::~Progress() { erase(); }

void Progress::advance(std::size_t ended, std::size_t total, const std::string& line) {
  const std::scoped_lock lock(mutex_);
  if (verbosity_ == Verbosity::plain) tell_line(line);
  if (verbosity_ != Verbosity::bar) return;
  share_ = total > 0 ? static_cast<double>(ended) / static_cast<double>(total) : 1;
  figures_ = progress_figures(ended, total, std::chrono::duration<double>(Clock::now() - start_).count(), unit_);
  draw(ended == total);
}

void Progress::set_status(const std::string& status) {
  const std::scoped_lock lock(mutex_);
  status_ = status;
  if (verbosity_ == Verbosity::bar) draw(false);
}

void Progress::show(double share, const std::string& figures) {
  const std::scoped_lock lock(mutex_);
  share_ = share;
  figures_ = figures;
  if (verbosity_ == Verbosity::bar) draw(share >= 1);
}

void Progress::line(const std::string& text) {
  const std::scoped_lock lock(mutex_);
  if (verbosity_ == Verbosity::plain) tell_line(text);
}

void Progress::failure(const std::string& line) {
  const std::scoped_lock lock(mutex_);
  erase();
  tell_failure(with_flags(line), terminal_);
}

void Progress::warning(const std::string& line) {
  const std::scoped_lock lock(mutex_);
  erase();
  tell_line("warning: " + line);
}

void Progress::note(const std::string& line) {
  if (verbosity_ == Verbosity::quiet) return;
  const std::scoped_lock lock(mutex_);
  erase();
  tell_line(line);
}

void Progress::draw(bool is_last) {
  const Clock::time_point now = Clock::now();
  if (!bar_.empty() && !is_last && now - last_drawn_ < between_drawings) return;
  last_drawn_ = now;
  const char* joint = figures_.empty() || status_.empty() ? "" : "; ";
  bar_ = bar_line(share_, fmt::format("{}{}{}", figures_, joint, status_), terminal_width());
  redraw(bar_);
}

void Progress::erase() {
  if (bar_.empty()) return;
  redraw("");
  bar_.clear();
}

}  // namespace attention_plasticity

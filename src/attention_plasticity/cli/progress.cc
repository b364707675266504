#include "attention_plasticity/cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace attention_plasticity {
namespace {

constexpr auto between_drawings = std::chrono::milliseconds(100);
constexpr std::size_t narrowest_bar = 10;
constexpr std::size_t widest_bar = 40;

void say(const std::string& line) { tell(line + "\n"); }

std::string duration(double seconds) {
  const auto whole = static_cast<long long>(std::ceil(seconds));
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

std::string progress_bar(std::size_t ended, std::size_t total, double seconds, std::size_t width,
                         const std::string& unit) {
  const double rate = seconds > 0 ? static_cast<double>(ended) / seconds : 0;
  std::string figures = fmt::format(" {}/{} {}", ended, total, unit);
  if (rate > 0) {
    figures += fmt::format(", {:.{}f}/s, {} left", rate, rate < 10 ? 1 : 0,
                           duration(static_cast<double>(total - ended) / rate));
  }
  if (width < figures.size() + narrowest_bar + 3) return figures.substr(1, width > 1 ? width - 1 : 0);
  const std::size_t cells = std::min(widest_bar, width - figures.size() - 3);
  const std::size_t filled = total > 0 ? cells * ended / total : cells;
  return fmt::format("[{:#<{}}{:-<{}}]{}", "", filled, "", cells - filled, figures);
}

Progress::Progress(Verbosity verbosity, const Terminal& terminal, std::string unit)
    : verbosity_(verbosity), terminal_(terminal), unit_(std::move(unit)) {}

Progress::~Progress() { erase(); }

void Progress::advance(std::size_t ended, std::size_t total, const std::string& line) {
  if (verbosity_ == Verbosity::plain) say(line);
  if (verbosity_ == Verbosity::bar) draw(ended, total);
}

void Progress::failure(const std::string& line) {
  erase();
  say(in_red(line, terminal_));
}

void Progress::note(const std::string& line) {
  if (verbosity_ == Verbosity::quiet) return;
  erase();
  say(line);
}

void Progress::draw(std::size_t ended, std::size_t total) {
  const Clock::time_point now = Clock::now();
  if (!bar_.empty() && ended < total && now - last_drawn_ < between_drawings) return;
  last_drawn_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  bar_ = progress_bar(ended, total, seconds, terminal_width(), unit_);
  tell(fmt::format("\r{}\x1b[K", bar_));
}

void Progress::erase() {
  if (bar_.empty()) return;
  tell(clear_line);
  bar_.clear();
}

}  // namespace attention_plasticity

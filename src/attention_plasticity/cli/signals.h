#pragma once

#include <atomic>
#include <functional>
#include <stop_token>
#include <thread>

namespace attention_plasticity {

/// To be called at the start of `main`. Fills the descriptors 0 to 2 where they are closed, so that no file gets one of
/// them and no line meant for a terminal is written into a table; reading and writing still fails there as if closed.
/// A standard stream or a socket whose reader is gone gives EPIPE rather than ending the program (`is_reader_gone`).
void prepare_standard_streams();

/// Whether standard output is a pipe that nobody reads any more, and SIGPIPE was not ignored when the program started.
bool is_reader_gone();

/// While an object lives, the first SIGINT, SIGTERM, SIGHUP or SIGPIPE becomes a stop request; a further SIGINT or
/// SIGTERM ends the program at once. (A further SIGHUP does not: a terminal that closes sends several. Nor does
/// SIGPIPE, which every line to a lost reader brings.) Signals that were ignored when the program started, such as
/// SIGHUP under nohup, stay ignored. Create it before any other thread starts: threads must inherit that the signals
/// are blocked.
class StopOnSignal {
 public:
  /// `on_first` is called, on another thread, when the first signal has arrived, before the stop is requested.
  /// It may ask for the signal.
  explicit StopOnSignal(std::function<void()> on_first);
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  std::stop_token token() const { return stop_.get_token(); }
  /// The first signal that arrived; 0: none.
  int signal() const { return signal_; }

 private:
  void wait(const std::stop_token& done);

  std::function<void()> on_first_;
  std::stop_source stop_;
  std::atomic<int> signal_ = 0;
  std::jthread waiter_;
};

}  // namespace attention_plasticity

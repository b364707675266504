#pragma once

#include <atomic>
#include <functional>
#include <stop_token>
#include <thread>

namespace attention_plasticity {

/// While an object lives, the first SIGINT or SIGTERM becomes a stop request, and the second ends the program at once.
/// Create it before any other thread starts: threads must inherit that both signals are blocked.
class StopOnSignal {
 public:
  /// `on_first` is called, on another thread, when the first signal arrives.
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

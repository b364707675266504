#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace attention_plasticity::python {

/// What happened in a call: name of the callback, and its arguments as the maker of the event builds them.
template <class Event>
class WatchedCall {
 public:
  /// Called by any thread of the work.
  void tell(Event event) {
    const std::scoped_lock lock(mutex_);
    events_.push_back(std::move(event));
    changed_.notify_one();
  }

  /// Runs `work(stop_token)` on a thread of its own without the GIL. Meanwhile the calling thread, which holds the GIL,
  /// hands events to `deliver` and looks for signals: Python runs their handlers in its main thread only. What
  /// `deliver` or a handler raises (KeyboardInterrupt) requests a stop and is returned once the work has ended. Throws
  /// what the work throws.
  template <class Work, class Deliver>
  std::optional<nanobind::python_error> run(Work work, Deliver deliver) {
    std::optional<nanobind::python_error> raised;
    std::exception_ptr failure;
    bool done = false;
    std::stop_source stop;
    std::thread worker([&] {
      try {
        work(stop.get_token());
      } catch (...) {
        failure = std::current_exception();
      }
      const std::scoped_lock lock(mutex_);
      done = true;
      changed_.notify_one();
    });
    for (bool ended = false; !ended;) {
      std::vector<Event> events;
      {
        const nanobind::gil_scoped_release release;
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, std::chrono::milliseconds(50), [&] { return done || !events_.empty(); });
        events.swap(events_);
        ended = done;
      }
      if (raised) continue;
      try {
        for (const Event& event : events) deliver(event);
        if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
      } catch (nanobind::python_error& error) {
        raised.emplace(std::move(error));
        stop.request_stop();
      }
    }
    worker.join();
    if (failure) std::rethrow_exception(failure);
    return raised;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Event> events_;
};

}  // namespace attention_plasticity::python

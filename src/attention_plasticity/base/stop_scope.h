#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>

namespace attention_plasticity {

/// Thrown when work ends because of a stop request. Not an error, and so no std::exception: a handler of errors lets it
/// pass.
struct Stopped {};

/// While it lives, work of this thread may be given up half-way: throw_if_stopped() throws as soon as `is_stopped`
/// returns true. Work that takes long calls that now and then, so that a stop need not wait for a whole head.
class StopScope {
 public:
  explicit StopScope(std::function<bool()> is_stopped);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  friend void throw_if_stopped();
  std::function<bool()> is_stopped_;
  StopScope* outer_;
};

/// Throws Stopped.
[[noreturn]] void throw_stopped();

/// Throws Stopped when the innermost scope of this thread should stop; without a scope it does nothing.
void throw_if_stopped();

/// Throws Stopped after a stop request.
inline void throw_if_stopped(const std::stop_token& stop) {
  if (stop.stop_requested()) throw_stopped();
}

/// Calls throw_if_stopped() at every 65,536th row, for loops over the rows of a head.
inline void throw_if_stopped_at(std::size_t row) {
  if (row % 65536 == 0) throw_if_stopped();
}

}  // namespace attention_plasticity

#pragma once

#include <functional>

namespace attention_plasticity {

/// Thrown out of work that is given up because a stop was requested. Not an error, and so no std::exception.
struct WorkStopped {};

/// While it lives, work of this thread may be given up half-way: throw_if_stopped() throws once `is_stopped` says so.
/// Work that takes long calls that now and then, so that a stop need not wait for a whole head.
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

/// Throws WorkStopped when the scope of this thread says that it should stop; without a scope it does nothing.
void throw_if_stopped();

}  // namespace attention_plasticity

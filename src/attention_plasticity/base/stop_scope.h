#pragma once

#include <cstddef>
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

/// The same at every 65,536th row, for loops over the rows of a head.
inline void throw_if_stopped_at(std::size_t row) {
  if (row % 65536 == 0) throw_if_stopped();
}

}  // namespace attention_plasticity

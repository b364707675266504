#include "attention_plasticity/base/stop_scope.h"

#include <utility>

namespace attention_plasticity {
namespace {

thread_local StopScope* innermost = nullptr;

}  // namespace

StopScope::StopScope(std::function<bool()> is_stopped)
    : is_stopped_(std::move(is_stopped)), outer_(std::exchange(innermost, this)) {}

StopScope::~StopScope() { innermost = outer_; }

void throw_if_stopped() {
  if (innermost == nullptr || !innermost->is_stopped_()) return;
  throw WorkStopped();  // what catches errors must not catch it; NOLINT(bugprone-std-exception-baseclass)
}

}  // namespace attention_plasticity

#include "attention_plasticity/base/stop_scope.h"

#include <utility>

namespace attention_plasticity {
namespace {

thread_local StopScope* innermost = nullptr;

}  // namespace

StopScope::StopScope(std::function<bool()> is_stopped)
    : is_stopped_(std::move(is_stopped)), outer_(std::exchange(innermost, this)) {}

StopScope::~StopScope() { innermost = outer_; }

// NOLINTNEXTLINE(bugprone-std-exception-baseclass): handlers of errors must let it pass
void throw_stopped() { throw Stopped(); }

void throw_if_stopped() {
  if (innermost != nullptr && innermost->is_stopped_()) throw_stopped();
}

}  // namespace attention_plasticity

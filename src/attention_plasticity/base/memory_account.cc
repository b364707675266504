#include "attention_plasticity/base/memory_account.h"

#include <utility>

namespace attention_plasticity {
namespace {

thread_local MemoryAccount* current_account = nullptr;

}  // namespace

void MemoryAccount::take(std::uint64_t bytes) {
  const std::uint64_t held = held_ += bytes;
  if (held <= limit_) return;
  held_ -= bytes;
  throw OverMemoryLimit(held, limit_);
}

MemoryAccount* MemoryAccount::current() { return current_account; }

MemoryAccount::Scope::Scope(MemoryAccount* account) : before_(std::exchange(current_account, account)) {}

MemoryAccount::Scope::~Scope() { current_account = before_; }

void MemoryCharge::set(std::uint64_t bytes) {
  if (account_ == nullptr) return;
  if (bytes > bytes_) account_->take(bytes - bytes_);
  if (bytes < bytes_) account_->give_back(bytes_ - bytes);
  bytes_ = bytes;
}

}  // namespace attention_plasticity

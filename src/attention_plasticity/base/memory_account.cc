#include "attention_plasticity/base/memory_account.h"

#include <algorithm>
#include <exception>

#include "attention_plasticity/memory.h"

namespace attention_plasticity {
namespace {

thread_local MemoryAccount* current_account = nullptr;

// An account takes more of its budget in steps of this size, so that it rarely asks.
constexpr std::uint64_t reserve_step = std::uint64_t{1} << 20;

}  // namespace

OverMemoryLimit::OverMemoryLimit(std::uint64_t needed, std::uint64_t limit, std::string what_for)
    : needed_(needed), limit_(limit), what_for_(std::move(what_for)) {}

bool MemoryBudget::take(std::uint64_t bytes) noexcept {
  std::uint64_t taken = taken_;
  do {
    if (taken > limit_ || bytes > limit_ - taken) return false;
  } while (!taken_.compare_exchange_weak(taken, taken + bytes));
  return true;
}

std::unique_ptr<MemoryAccount> MemoryAccount::alone(MemoryBudget& budget, std::uint64_t own_limit) {
  return std::unique_ptr<MemoryAccount>(new MemoryAccount(&budget, own_limit));
}

MemoryAccount::~MemoryAccount() {
  if (budget_ != nullptr) budget_->give_back(reserved_);
}

void MemoryAccount::take(std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  if (held_ > limit_ || bytes > limit_ - held_ || !reserve(held_ + bytes)) {
    refusal_.emplace(held_ + bytes < bytes ? bytes : held_ + bytes, limit_);
    throw OverMemoryLimit(*refusal_);
  }
  held_ += bytes;
  peak_ = std::max(peak_, held_);
  release_kept_blocks_if_needed();
}

// The caller holds the mutex.
bool MemoryAccount::reserve(std::uint64_t bytes) {
  if (budget_ == nullptr || bytes <= reserved_) return true;
  const std::uint64_t more = bytes - reserved_;
  if (is_alone_) {
    budget_->take_regardless(more);
    reserved_ = bytes;
    return true;
  }
  for (const std::uint64_t asked : {std::max(more, reserve_step), more}) {
    if (!budget_->take(asked)) continue;
    reserved_ += asked;
    return true;
  }
  return false;
}

// Blocks that are kept for the next head are memory too, and nobody's.
void MemoryAccount::release_kept_blocks_if_needed() const {
  const std::uint64_t kept = kept_memory_bytes();
  if (kept == 0) return;
  const std::uint64_t used = budget_ == nullptr ? held_ : budget_->taken();
  const std::uint64_t limit = budget_ == nullptr ? limit_ : budget_->limit();
  if (used > limit || kept > limit - used) release_kept_memory();
}

void MemoryAccount::give_back(std::uint64_t bytes) noexcept {
  const std::scoped_lock lock(mutex_);
  held_ -= bytes;
}

std::uint64_t MemoryAccount::held() const {
  const std::scoped_lock lock(mutex_);
  return held_;
}

std::uint64_t MemoryAccount::peak() const {
  const std::scoped_lock lock(mutex_);
  return peak_;
}

std::optional<OverMemoryLimit> MemoryAccount::refusal() const {
  const std::scoped_lock lock(mutex_);
  return refusal_;
}

void MemoryAccount::settle() {
  const std::scoped_lock lock(mutex_);
  if (budget_ == nullptr || reserved_ <= held_) return;
  budget_->give_back(reserved_ - held_);
  reserved_ = held_;
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

std::exception_ptr refusal_or_current(const MemoryAccount* account) {
  try {
    throw;
  } catch (const OverMemoryLimit&) {
    return std::current_exception();
  } catch (const std::bad_alloc&) {
    const std::optional<OverMemoryLimit> refusal = account == nullptr ? std::nullopt : account->refusal();
    return refusal ? std::make_exception_ptr(*refusal) : std::current_exception();
  } catch (...) {
    return std::current_exception();
  }
}

std::optional<OverMemoryLimit> as_over_limit(const std::exception_ptr& failure) {
  try {
    if (failure) std::rethrow_exception(failure);
  } catch (const OverMemoryLimit& over) {
    return over;
  } catch (...) {
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace attention_plasticity

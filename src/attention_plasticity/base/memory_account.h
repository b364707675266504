#pragma once

#include <atomic>
#include <cstdint>
#include <new>

namespace attention_plasticity {

/// Thrown where a piece of work would hold more memory than its account allows.
class OverMemoryLimit : public std::bad_alloc {
 public:
  OverMemoryLimit(std::uint64_t needed, std::uint64_t limit) : needed_(needed), limit_(limit) {}

  std::uint64_t needed() const { return needed_; }  ///< bytes that the work would have held
  std::uint64_t limit() const { return limit_; }    ///< bytes that it may hold
  const char* what() const noexcept override { return "more memory than the limit allows"; }

 private:
  std::uint64_t needed_;
  std::uint64_t limit_;
};

/// The memory that a piece of work holds, such as the analysis of one head. Thread-safe.
class MemoryAccount {
 public:
  explicit MemoryAccount(std::uint64_t limit) : limit_(limit) {}
  MemoryAccount(const MemoryAccount&) = delete;
  MemoryAccount& operator=(const MemoryAccount&) = delete;

  /// Counts memory before it is allocated. Throws OverMemoryLimit, and counts nothing, when it would exceed the limit.
  void take(std::uint64_t bytes);
  void give_back(std::uint64_t bytes) noexcept { held_ -= bytes; }
  std::uint64_t held() const { return held_; }

  /// The account of the calling thread; null: memory is not counted.
  static MemoryAccount* current();

  /// While it lives, the calling thread's memory is counted in `account`, which may be null.
  class Scope {
   public:
    explicit Scope(MemoryAccount* account);
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope();

   private:
    MemoryAccount* before_;
  };

 private:
  std::atomic<std::uint64_t> held_ = 0;
  const std::uint64_t limit_;
};

/// Memory counted in the account that the thread had when it was made, until it is destroyed. Counts nothing where
/// there is no account.
class MemoryCharge {
 public:
  MemoryCharge() : account_(MemoryAccount::current()) {}
  explicit MemoryCharge(std::uint64_t bytes) : MemoryCharge() { set(bytes); }
  MemoryCharge(const MemoryCharge&) = delete;
  MemoryCharge& operator=(const MemoryCharge&) = delete;
  ~MemoryCharge() { set(0); }

  /// Counts this many bytes in place of those before. Throws OverMemoryLimit as MemoryAccount::take does.
  void set(std::uint64_t bytes);

 private:
  MemoryAccount* account_;
  std::uint64_t bytes_ = 0;
};

}  // namespace attention_plasticity

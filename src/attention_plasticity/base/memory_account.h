#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>

namespace attention_plasticity {

/// Thrown where a piece of work would hold more memory than its account allows.
class OverMemoryLimit : public std::bad_alloc {
 public:
  OverMemoryLimit(std::uint64_t needed, std::uint64_t limit) : needed_(needed), limit_(limit) {}
  /// `what_for` says what the memory was for, such as "3,000 buckets make 4,498,500 cells".
  OverMemoryLimit(std::uint64_t needed, std::uint64_t limit, std::string what_for);

  std::uint64_t needed() const { return needed_; }           ///< bytes that the work would have held
  std::uint64_t limit() const { return limit_; }             ///< bytes that it may hold
  const std::string& what_for() const { return what_for_; }  ///< empty: not said
  const char* what() const noexcept override { return "more memory than the limit allows"; }

 private:
  std::uint64_t needed_;
  std::uint64_t limit_;
  std::string what_for_;
};

/// The memory that several accounts share. Thread-safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::uint64_t limit) : limit_(limit) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  /// Takes all of `bytes`, or nothing: false when fewer are free.
  bool take(std::uint64_t bytes) noexcept;
  /// Takes `bytes` even when fewer are free.
  void take_regardless(std::uint64_t bytes) noexcept { taken_ += bytes; }
  void give_back(std::uint64_t bytes) noexcept { taken_ -= bytes; }
  std::uint64_t taken() const noexcept { return taken_; }
  std::uint64_t limit() const noexcept { return limit_; }

 private:
  std::atomic<std::uint64_t> taken_ = 0;
  const std::uint64_t limit_;
};

/// The memory that a piece of work holds, such as the analysis of one head. It must outlive what is counted in it.
/// Thread-safe.
class MemoryAccount {
 public:
  /// May hold up to `limit` bytes.
  explicit MemoryAccount(std::uint64_t limit) : limit_(limit) {}
  /// Has `reserved` bytes of the budget, which the caller took from it, and takes more as it needs them. All go back to
  /// the budget in the end.
  MemoryAccount(MemoryBudget& budget, std::uint64_t reserved)
      : limit_(budget.limit()), budget_(&budget), reserved_(reserved) {}
  /// The account of work that runs alone: it takes of the budget what it needs up to `own_limit`, even when fewer bytes
  /// are free.
  static std::unique_ptr<MemoryAccount> alone(MemoryBudget& budget, std::uint64_t own_limit);
  MemoryAccount(const MemoryAccount&) = delete;
  MemoryAccount& operator=(const MemoryAccount&) = delete;
  ~MemoryAccount();

  /// Counts memory before it is allocated. Throws OverMemoryLimit, and counts nothing, when it would exceed the limit
  /// or what is free of the budget.
  void take(std::uint64_t bytes);
  void give_back(std::uint64_t bytes) noexcept;
  std::uint64_t held() const;
  std::uint64_t peak() const;  ///< the most that was held at any time
  /// What take() threw last: Arrow passes it on as a plain lack of memory. None: nothing was refused.
  std::optional<OverMemoryLimit> refusal() const;

  /// Gives back what is reserved beyond what is held: the work needs no more than that from now on.
  void settle();

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
  MemoryAccount(MemoryBudget* budget, std::uint64_t own_limit) : limit_(own_limit), budget_(budget), is_alone_(true) {}
  bool reserve(std::uint64_t bytes);
  void release_kept_blocks_if_needed() const;

  mutable std::mutex mutex_;  // of all that changes
  const std::uint64_t limit_;
  MemoryBudget* const budget_ = nullptr;
  const bool is_alone_ = false;
  std::uint64_t reserved_ = 0;
  std::uint64_t held_ = 0;
  std::uint64_t peak_ = 0;
  std::optional<OverMemoryLimit> refusal_;
};

/// Memory counted in the account that the thread had when it was made, until it is destroyed. Counts nothing where
/// there is no account.
class MemoryCharge {
 public:
  MemoryCharge() : account_(MemoryAccount::current()) {}
  explicit MemoryCharge(std::uint64_t bytes) : MemoryCharge() { set(bytes); }
  MemoryCharge(const MemoryCharge&) = delete;
  MemoryCharge& operator=(const MemoryCharge&) = delete;
  MemoryCharge(MemoryCharge&& other) noexcept
      : account_(std::exchange(other.account_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  MemoryCharge& operator=(MemoryCharge&& other) noexcept {
    std::swap(account_, other.account_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MemoryCharge() {
    if (account_ != nullptr) account_->give_back(bytes_);
  }

  /// Counts this many bytes in place of those before. Throws OverMemoryLimit as MemoryAccount::take does.
  void set(std::uint64_t bytes);

 private:
  MemoryAccount* account_;
  std::uint64_t bytes_ = 0;
};

/// The exception that is being handled; in place of a std::bad_alloc the refusal of the account, if it refused: what
/// the system lacks is not what an account refuses, though Arrow tells both alike. `account` may be null.
std::exception_ptr refusal_or_current(const MemoryAccount* account);

/// The exception if it is an OverMemoryLimit.
std::optional<OverMemoryLimit> as_over_limit(const std::exception_ptr& failure);

}  // namespace attention_plasticity

#include "attention_plasticity/dump/counted_pool.h"

#include <arrow/status.h>
#include <parquet/exception.h>

#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <string>

namespace attention_plasticity {
namespace {

class CountedPool : public arrow::MemoryPool {
 public:
  using arrow::MemoryPool::Allocate;
  using arrow::MemoryPool::Free;
  using arrow::MemoryPool::Reallocate;

  arrow::Status Allocate(std::int64_t size, std::int64_t alignment, std::uint8_t** out) override {
    ARROW_RETURN_NOT_OK(take(size));
    const arrow::Status allocated = pool_->Allocate(size, alignment, out);
    if (!allocated.ok()) give_back(size);
    return allocated;
  }

  // Old and new memory may be there at once.
  arrow::Status Reallocate(std::int64_t old_size, std::int64_t new_size, std::int64_t alignment,
                           std::uint8_t** memory) override {
    ARROW_RETURN_NOT_OK(take(new_size));
    const arrow::Status reallocated = pool_->Reallocate(old_size, new_size, alignment, memory);
    give_back(reallocated.ok() ? old_size : new_size);
    return reallocated;
  }

  void Free(std::uint8_t* memory, std::int64_t size, std::int64_t alignment) override {
    pool_->Free(memory, size, alignment);
    give_back(size);
  }

  std::int64_t bytes_allocated() const override { return bytes_; }
  std::int64_t total_bytes_allocated() const override { return total_; }
  std::int64_t num_allocations() const override { return allocations_; }
  std::string backend_name() const override { return pool_->backend_name(); }

  void rethrow_refusal() const {
    const std::scoped_lock lock(mutex_);
    if (refusal_) throw OverMemoryLimit(*refusal_);
  }

 private:
  arrow::Status take(std::int64_t size) {
    try {
      if (account_ != nullptr) account_->take(static_cast<std::uint64_t>(size));
    } catch (const OverMemoryLimit& over) {
      const std::scoped_lock lock(mutex_);
      refusal_ = over;
      return arrow::Status::OutOfMemory("more memory than the limit allows");
    }
    bytes_ += size;
    total_ += size;
    ++allocations_;
    return arrow::Status::OK();
  }

  void give_back(std::int64_t size) {
    bytes_ -= size;
    if (account_ != nullptr) account_->give_back(static_cast<std::uint64_t>(size));
  }

  arrow::MemoryPool* pool_ = arrow::default_memory_pool();
  MemoryAccount* account_ = MemoryAccount::current();
  std::atomic<std::int64_t> bytes_ = 0;
  std::atomic<std::int64_t> total_ = 0;
  std::atomic<std::int64_t> allocations_ = 0;
  mutable std::mutex mutex_;  // of the refusal
  std::optional<OverMemoryLimit> refusal_;
};

}  // namespace

std::unique_ptr<arrow::MemoryPool> counted_pool() { return std::make_unique<CountedPool>(); }

bool is_out_of_memory(const std::exception& failure) {
  if (dynamic_cast<const std::bad_alloc*>(&failure) != nullptr) return true;
  const auto* status = dynamic_cast<const parquet::ParquetStatusException*>(&failure);
  return status != nullptr && status->status().IsOutOfMemory();
}

void rethrow_refusal(const arrow::MemoryPool& pool) {
  if (const auto* counted = dynamic_cast<const CountedPool*>(&pool)) counted->rethrow_refusal();
}

}  // namespace attention_plasticity

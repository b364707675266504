#include "attention_plasticity/dump/counted_pool.h"

#include <arrow/status.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "attention_plasticity/base/memory_account.h"

namespace attention_plasticity {
namespace {

// Without memory for this the program could not begin. NOLINTNEXTLINE(bugprone-throwing-static-initialization)
arrow::MemoryPool* const found_pool = arrow::default_memory_pool();

class CountedPool : public arrow::MemoryPool {
 public:
  explicit CountedPool(MemoryAccount& account) : account_(&account) {}

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

 private:
  arrow::Status take(std::int64_t size) {
    try {
      account_->take(static_cast<std::uint64_t>(size));
    } catch (const OverMemoryLimit&) {
      return arrow::Status::OutOfMemory("more memory than the limit allows");
    }
    bytes_ += size;
    total_ += size;
    ++allocations_;
    return arrow::Status::OK();
  }

  void give_back(std::int64_t size) {
    bytes_ -= size;
    account_->give_back(static_cast<std::uint64_t>(size));
  }

  arrow::MemoryPool* pool_ = usual_pool();
  MemoryAccount* account_;
  std::atomic<std::int64_t> bytes_ = 0;
  std::atomic<std::int64_t> total_ = 0;
  std::atomic<std::int64_t> allocations_ = 0;
};

}  // namespace

arrow::MemoryPool* usual_pool() { return found_pool; }

std::unique_ptr<arrow::MemoryPool> counted_pool() {
  MemoryAccount* const account = MemoryAccount::current();
  return account == nullptr ? nullptr : std::make_unique<CountedPool>(*account);
}

}  // namespace attention_plasticity

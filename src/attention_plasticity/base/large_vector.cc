#include "attention_plasticity/base/large_vector.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

#if __has_include(<malloc.h>)
#include <malloc.h>
#endif

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <mutex>
#include <new>

#include "attention_plasticity/memory.h"

namespace attention_plasticity {
namespace {

constexpr std::align_val_t small_alignment{64};
constexpr std::align_val_t huge_page{std::size_t{2} << 20};

/// Rounds up in steps of an eighth of a power of two, so that heads of nearly the same length can share blocks. The
/// bytes that this adds are never touched, so they take no memory.
std::size_t rounded(std::size_t bytes) {
  const std::size_t step = std::max(large_block_bytes, std::bit_floor(bytes) / 8);
  const std::size_t steps = bytes / step + (bytes % step > 0 ? 1 : 0);
  if (steps > std::numeric_limits<std::size_t>::max() / step) throw std::bad_alloc();
  return steps * step;
}

void* map_block(std::size_t bytes) {
  void* const block = ::operator new(bytes, huge_page);
#ifdef MADV_HUGEPAGE
  madvise(block, bytes, MADV_HUGEPAGE);  // only a hint: the block works without huge pages too
#endif
  return block;
}

/// Large blocks that were given back and wait for the next request.
class KeptBlocks {
 public:
  void* take(std::size_t bytes) {
    if (bytes_ > 0) {
      const std::scoped_lock lock(mutex_);
      const auto fitting = std::ranges::find(blocks_, bytes, &Block::bytes);
      if (fitting != blocks_.end()) {
        void* const memory = fitting->memory;
        blocks_.erase(fitting);
        bytes_ -= bytes;
        return memory;
      }
    }
    free_all();
    return map_block(bytes);
  }

  void keep(void* memory, std::size_t bytes) noexcept {
    try {
      const std::scoped_lock lock(mutex_);
      blocks_.push_back({memory, bytes});
      bytes_ += bytes;
    } catch (const std::bad_alloc&) {
      ::operator delete(memory, huge_page);
    }
  }

  void free_all() noexcept {
    const std::scoped_lock lock(mutex_);
    for (const Block& block : blocks_) ::operator delete(block.memory, huge_page);
    blocks_.clear();
    bytes_ = 0;
  }

  std::size_t bytes() const { return bytes_; }

 private:
  struct Block {
    void* memory;
    std::size_t bytes;
  };
  std::mutex mutex_;
  std::vector<Block> blocks_;
  std::atomic<std::size_t> bytes_ = 0;  // of `blocks_`; changed with the mutex held
};

KeptBlocks& kept() {
  // Never destroyed, because a static vector may give its block back after all other static objects are gone.
  static KeptBlocks& blocks = *new KeptBlocks;
  return blocks;
}

}  // namespace

void* take_block(std::size_t bytes) {
  return bytes < large_block_bytes ? ::operator new(bytes, small_alignment) : kept().take(rounded(bytes));
}

void give_back_block(void* block, std::size_t bytes) noexcept {
  if (bytes < large_block_bytes) {
    ::operator delete(block, small_alignment);
  } else {
    kept().keep(block, rounded(bytes));
  }
}

void return_freed_memory() noexcept {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

void release_kept_memory() noexcept { kept().free_all(); }

std::size_t kept_memory_bytes() { return kept().bytes(); }

}  // namespace attention_plasticity

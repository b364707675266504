#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace attention_plasticity {

/// Blocks of this size or more begin at a multiple of 2 MiB and lie on huge pages where the system has them: a pass
/// over a head's vectors then misses no address translations, and filling them takes a few page faults instead of
/// thousands.
constexpr std::size_t large_block_bytes = std::size_t{2} << 20;

/// Memory at a multiple of 64 bytes, not initialised. A large block that was given back serves the next request of
/// about its size (they are rounded up by at most an eighth, and to 2 MiB). Where none fits, those kept are freed
/// before more is asked of the system, so that blocks in use and kept never exceed what was once in use. Throws
/// std::bad_alloc.
void* take_block(std::size_t bytes);

/// Gives back a block of `take_block` that was asked for with as many bytes.
void give_back_block(void* block, std::size_t bytes) noexcept;

/// Frees the large blocks that nobody uses.
void free_kept_blocks() noexcept;

/// What is kept for the next request, in bytes.
std::size_t kept_block_bytes();

/// Memory from `take_block`, whose elements are left as they are where no value is given for them.
template <class T>
struct BlockAllocator {
  using value_type = T;

  BlockAllocator() = default;
  template <class U>
  BlockAllocator(const BlockAllocator<U>&) {}  // NOLINT(google-explicit-constructor): as allocators convert

  T* allocate(std::size_t n) {
    if (n > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(take_block(n * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t n) { give_back_block(memory, n * sizeof(T)); }

  template <class U>
  void construct(U* place) {
    ::new (static_cast<void*>(place)) U;
  }
  template <class U, class... Arguments>
  void construct(U* place, Arguments&&... arguments) {
    std::construct_at(place, std::forward<Arguments>(arguments)...);
  }

  friend bool operator==(const BlockAllocator&, const BlockAllocator&) { return true; }
};

/// A vector for large arrays of numbers. Unlike those of `std::vector`, elements that `resize(n)` adds are not set.
template <class T>
using LargeVector = std::vector<T, BlockAllocator<T>>;

}  // namespace attention_plasticity

#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace attention_plasticity {

/// Blocks of at least this size begin at a multiple of 2 MiB and use huge pages if the system has them. A pass over a
/// head's vectors then hardly misses the TLB, and filling them takes a few page faults instead of thousands.
constexpr std::size_t large_block_bytes = std::size_t{2} << 20;

/// Uninitialised memory, aligned to 64 bytes. A large block that was given back is kept for the next request of about
/// its size; sizes are rounded up to multiples of 2 MiB, by at most an eighth. If no kept block fits, all of them are
/// freed before the system is asked for more, so blocks in use and kept blocks together never exceed the largest amount
/// that was in use. Throws std::bad_alloc.
void* take_block(std::size_t bytes);

/// Gives back a block from `take_block(bytes)`.
void give_back_block(void* block, std::size_t bytes) noexcept;

/// Gives memory that was freed, but that the allocator keeps for its next requests, back to the system. Takes
/// milliseconds. Does nothing where the allocator cannot.
void return_freed_memory() noexcept;

/// An allocator on `take_block`. Elements without an initial value stay uninitialised.
template <class T>
struct BlockAllocator {
  using value_type = T;

  BlockAllocator() = default;
  template <class U>
  BlockAllocator(const BlockAllocator<U>& /*other*/) {}  // NOLINT(google-explicit-constructor): as allocators convert

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

/// A vector for large arrays of numbers. Elements that `resize(n)` adds are not initialised.
template <class T>
using LargeVector = std::vector<T, BlockAllocator<T>>;

}  // namespace attention_plasticity

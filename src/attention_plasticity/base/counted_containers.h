#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "attention_plasticity/base/memory_account.h"

namespace attention_plasticity {

/// The usual memory, counted in the account that the thread had when the container was made. The account goes with the
/// memory where that is moved; a copy is counted where it is made.
template <class T>
struct CountedAllocator {
  using value_type = T;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;

  CountedAllocator() : account(MemoryAccount::current()) {}
  template <class U>
  CountedAllocator(const CountedAllocator<U>& other)  // NOLINT(google-explicit-constructor): as allocators convert
      : account(other.account) {}
  CountedAllocator select_on_container_copy_construction() const { return {}; }

  T* allocate(std::size_t n) {
    if (n > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    if (account != nullptr) account->take(n * sizeof(T));
    try {
      return std::allocator<T>().allocate(n);
    } catch (...) {
      if (account != nullptr) account->give_back(n * sizeof(T));
      throw;
    }
  }
  void deallocate(T* memory, std::size_t n) {
    std::allocator<T>().deallocate(memory, n);
    if (account != nullptr) account->give_back(n * sizeof(T));
  }

  friend bool operator==(const CountedAllocator& a, const CountedAllocator& b) { return a.account == b.account; }

  MemoryAccount* account;  ///< null: memory is not counted
};

/// Containers that grow with the input.
template <class T>
class CountedVector : public std::vector<T, CountedAllocator<T>> {
 public:
  using std::vector<T, CountedAllocator<T>>::vector;
  // NOLINTNEXTLINE(google-explicit-constructor): a list of numbers is one wherever it is counted
  CountedVector(const std::vector<T>& other) : std::vector<T, CountedAllocator<T>>(other.begin(), other.end()) {}
};

template <class Key, class Value>
using CountedMap = std::map<Key, Value, std::less<Key>, CountedAllocator<std::pair<const Key, Value>>>;

template <class Key, class Value>
using CountedHashMap =
    std::unordered_map<Key, Value, std::hash<Key>, std::equal_to<Key>, CountedAllocator<std::pair<const Key, Value>>>;

/// Vectors are equal by their elements, wherever these are counted.
template <class T>
bool operator==(const CountedVector<T>& a, const std::vector<T>& b) {
  return std::ranges::equal(a, b);
}

}  // namespace attention_plasticity

#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "attention_plasticity/base/usable_cores.h"

namespace attention_plasticity {

/// Calls task(i) for each i below `count`, by as many threads as there are cores, at most 8. Throws the first failure
/// that a task throws, once all threads have ended; tasks that have not begun by then are left out.
template <class Task>
void for_each_in_threads(std::size_t count, const Task& task) {
  constexpr std::size_t most_threads = 8;
  const std::size_t threads = std::min({count, most_threads, static_cast<std::size_t>(usable_cores())});
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        task(i);
      } catch (...) {
        const std::scoped_lock lock(mutex);
        if (!failure) failure = std::current_exception();
        next = count;
      }
    }
  };
  {
    std::vector<std::jthread> others;
    others.reserve(threads);
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace attention_plasticity

// Tasks for tests of the queue of heads, and loads and work for them.

#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "attention_plasticity/base/memory_account.h"
#include "attention_plasticity/run/head_queue.h"

namespace attention_plasticity {

// Group g has key head g of layer 0. The width of its keys identifies it.
inline std::vector<HeadTask> tasks_of_groups(const std::vector<std::size_t>& sizes, std::uint64_t query_bytes = 0,
                                             std::uint64_t key_bytes = 0) {
  std::vector<HeadTask> tasks;
  for (std::size_t group = 0; group < sizes.size(); ++group) {
    for (std::size_t i = 0; i < sizes[group]; ++i) {
      HeadTask task;
      task.head = {0, static_cast<int>(tasks.size()), static_cast<int>(group)};
      task.query_bytes = query_bytes;
      task.key_bytes = key_bytes;
      tasks.push_back(task);
    }
  }
  return tasks;
}

inline QueueOptions with_workers(int workers) { return {workers, std::nullopt, {}}; }

inline LoadedKeys loaded_keys_of(const HeadTask& task) {
  HeadRows rows;
  rows.width = static_cast<std::size_t>(task.head.k_head);
  return {{KeptRows(std::move(rows)), {}}, {}};
}

// Keys take as much memory as was estimated. Those of more than half the limit take none in these tests, so that all
// fit.
inline std::uint64_t take_estimate(std::uint64_t bytes, const QueueOptions& options) {
  if (!options.memory_limit || bytes > *options.memory_limit / 2) return 0;
  MemoryAccount::current()->take(bytes);
  return bytes;
}

// Runs `work`, which has no result, for every task.
template <class Work>
void for_each_task(std::span<const HeadTask> tasks, const QueueOptions& options, const LoadKeys& load, const Work& work,
                   const std::stop_token& stop) {
  for_each_head(
      tasks, options, load,
      [&](std::size_t task, const LoadedKeys* keys, const std::exception_ptr& failure) {
        work(task, keys, failure);
        return FinishedTask{};
      },
      stop);
}

}  // namespace attention_plasticity

// Tasks for tests of the queue of heads, and loads and work for them.

#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <stop_token>
#include <vector>

#include "attention_plasticity/measure/head_queue.h"

namespace attention_plasticity {

// A task for tests: the memory that it needs, and the group of its keys.
struct TestTask {
  std::size_t group = 0;
  TaskBytes bytes;
};
using TestKeys = std::size_t;
using LoadTestKeys = std::function<TestKeys(std::size_t task)>;

// Tasks in groups of these sizes.
inline std::vector<TestTask> tasks_of_groups(const std::vector<std::size_t>& sizes, const TaskBytes& bytes = {}) {
  std::vector<TestTask> tasks;
  for (std::size_t group = 0; group < sizes.size(); ++group) {
    for (std::size_t i = 0; i < sizes[group]; ++i) tasks.push_back({group, bytes});
  }
  return tasks;
}

inline LoadTestKeys keys_of(std::span<const TestTask> tasks) {
  return [tasks](std::size_t task) { return tasks[task].group; };
}

inline QueueOptions with_workers(int workers) { return {.workers = workers}; }

// All of the limit is for any one task.
inline QueueOptions with_memory(int workers, std::uint64_t limit) {
  return {.workers = workers, .memory = QueueMemory{limit, limit, 0}};
}

// Runs `work`, which has no result, for every task.
template <class Work>
void for_each_task(std::span<const TestTask> tasks, QueueOptions options, const LoadTestKeys& load, const Work& work,
                   const std::stop_token& stop) {
  std::vector<QueueTask> queued;
  for (const TestTask& task : tasks) queued.push_back({task.group});
  if (!options.arrive) options.arrive = [tasks](std::size_t task) { return tasks[task].bytes; };
  for_each_head<TestKeys>(
      queued, options, load,
      [&](std::size_t task, const TestKeys* keys, const std::exception_ptr& failure) {
        work(task, keys, failure);
        return std::uint64_t{0};
      },
      stop);
}

}  // namespace attention_plasticity

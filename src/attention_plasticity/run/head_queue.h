#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>

#include "attention_plasticity/run/head_outcome.h"
#include "attention_plasticity/run/prepared_run.h"

namespace attention_plasticity {

/// Memory that a task needs, in bytes.
struct TaskBytes {
  std::uint64_t queries = 0;
  std::uint64_t keys = 0;  ///< shared by all tasks with this key file
};

struct QueueOptions {
  int workers = 1;
  std::optional<std::uint64_t> memory_limit;  ///< bytes of all tasks in flight; a larger task runs alone
  /// Waits for the files of a task that are still being downloaded, and returns the memory they need. Called for each
  /// task in order, by one thread at a time. An exception from it ends the queue. Not set: all files are on disk, and
  /// the tasks hold the memory they need.
  std::function<TaskBytes(const HeadTask&)> arrive = {};
};

/// Reads and prepares the keys of a task.
using LoadKeys = std::function<LoadedKeys(const HeadTask&)>;

/// The work of one task, on any thread. Gets the keys, or the failure to load them. Must not throw.
using HeadWork = std::function<void(std::size_t task, const LoadedKeys* keys, const std::exception_ptr& failure)>;

/// Runs `work` for every task on `workers` threads, which take the tasks in order. Tasks with the same key file must be
/// adjacent, as prepare_run orders them. They share its keys: the first task loads them, and they are freed after the
/// last. After a stop request, or after `arrive` throws, no further task is started, and the tasks in flight are
/// finished. Returns, or rethrows the exception of `arrive`, once all threads are done.
void for_each_head(std::span<const HeadTask> tasks, const QueueOptions& options, const LoadKeys& load,
                   const HeadWork& work, const std::stop_token& stop);

}  // namespace attention_plasticity

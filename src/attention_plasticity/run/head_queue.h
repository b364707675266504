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
  /// Bytes that tasks in flight, their keys and the results of ended tasks hold together.
  std::optional<std::uint64_t> memory_limit = {};
  /// Waits for the files of a task that are still being downloaded, and returns the memory they need. Called for each
  /// task in order, by one thread at a time. An exception from it ends the queue. Not set: all files are on disk, and
  /// the tasks hold the memory they need.
  std::function<TaskBytes(const HeadTask&)> arrive = {};
  std::uint64_t held_bytes = 0;  ///< of `memory_limit`, by results that were there before
};

/// Reads and prepares the keys of a task.
using LoadKeys = std::function<LoadedKeys(const HeadTask&)>;

/// A task whose work is done.
struct FinishedTask {
  std::function<void()> deliver = [] {};  ///< hands the outcome over; called at most once, on any thread
  std::uint64_t result_bytes = 0;         ///< what the outcome holds until the queue's end, and after
  bool has_failed = false;
};

/// The work of one task, on any thread. Gets the keys, or why there is no result: a failure to load them, or an
/// OverMemoryLimit. What it throws then ends the queue, as what `arrive` throws. Without a failure it may throw
/// anything, and is called again: with that as the failure, or after an OverMemoryLimit when it runs alone.
using HeadWork =
    std::function<FinishedTask(std::size_t task, const LoadedKeys* keys, const std::exception_ptr& failure)>;

/// Runs `work` for every task on `workers` threads, which take the tasks in order. Tasks with the same key file must be
/// adjacent, as prepare_run orders them. They share its keys: the first task loads them, and they are freed after the
/// last. After a stop request, or after `arrive` throws, no further task is started. The tasks in flight are
/// finished; after a stop request their work may be given up half-way instead (base/stop_scope.h). Returns, or rethrows
/// the exception of `arrive`, once all threads are done.
///
/// With a memory limit, the work of a task and the loading of keys have an account each (MemoryAccount::current()).
/// Tasks begin as far as their estimates are free. A task that needs more than is free is given up and tried again
/// alone, once no other is in flight. If it does not fit then (KeptResults), its failure is the OverMemoryLimit.
/// Which tasks do not fit does not depend on the number of workers. Keys may be loaded again.
void for_each_head(std::span<const HeadTask> tasks, const QueueOptions& options, const LoadKeys& load,
                   const HeadWork& work, const std::stop_token& stop);

}  // namespace attention_plasticity

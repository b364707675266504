#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>

#include "attention_plasticity/analysis/head_analysis.h"
#include "attention_plasticity/run/plan.h"

namespace attention_plasticity {

/// Memory that a task takes.
struct TaskBytes {
  std::uint64_t queries = 0;
  std::uint64_t keys = 0;  ///< shared by the tasks of one key file
};

struct QueueOptions {
  int workers = 1;
  std::optional<std::uint64_t> memory_limit;  ///< bytes of tasks in flight; a larger task runs alone
  /// For files still on their way: called for each task in turn, by one thread at a time, it waits for them and tells
  /// what they take. What it throws ends the queue. Not set: the files are there, and the tasks say what they take.
  std::function<TaskBytes(const HeadTask&)> arrive = {};
};

/// Reads and prepares the keys of a task.
using LoadKeys = std::function<PreparedKeys(const HeadTask&)>;

/// One task's work, on some thread, with the keys or with what went wrong in loading them. Must not throw.
using HeadWork = std::function<void(std::size_t task, const PreparedKeys* keys, const std::exception_ptr& failure)>;

/// Runs `work` for every task, in order of start, on `workers` threads. Tasks of one key file stand together (as a plan
/// has them) and share its keys, which are loaded once, by the first of them, and freed after the last. After a stop
/// request, or when a task's files do not arrive, no further task is started; those begun are finished. Returns when
/// all threads are done, or throws then what `arrive` threw.
void for_each_head(std::span<const HeadTask> tasks, const QueueOptions& options, const LoadKeys& load,
                   const HeadWork& work, const std::stop_token& stop);

}  // namespace attention_plasticity

#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "attention_plasticity/source/head_memory.h"

namespace attention_plasticity {

/// A task of the queue. Adjacent tasks of one key group share the keys.
struct QueueTask {
  std::size_t key_group = 0;
};

/// The memory of a queue, in bytes.
struct QueueMemory {
  std::uint64_t limit = 0;         ///< of tasks in flight, keys that are loaded, and results together
  std::uint64_t most_of_task = 0;  ///< a task that needs more, with its keys, fails
  std::uint64_t held = 0;          ///< taken from the beginning to the end, such as by earlier results
};

struct QueueOptions {
  int workers = 1;
  std::optional<QueueMemory> memory = {};  ///< null: no limit
  /// Waits for the files of a task and returns its bounds. Called for each task in order, by one thread at a time. An
  /// exception from it ends the queue. Not set: all files are there, and tasks take no memory.
  std::function<TaskBytes(std::size_t task)> arrive = {};
};

/// The functions of a queue whose keys are stored elsewhere; for_each_head() below is simpler.
struct QueueWork {
  std::function<void(std::size_t task, std::size_t group)> load;  ///< loads the keys of a group for a task
  std::function<void(std::size_t group)> free;                    ///< frees them
  /// Does a task and returns the bytes that its result holds from now on. `failure`: why there are no keys; null: they
  /// are loaded.
  std::function<std::uint64_t(std::size_t task, std::size_t group, const std::exception_ptr& failure)> work;
};
/// Groups are numbered from 0 in the order of the tasks.
void run_queue(std::span<const QueueTask> tasks, const QueueOptions& options, const QueueWork& work,
               const std::stop_token& stop);

/// Runs `work(task, keys, failure)` for every task on `options.workers` threads, which take the tasks in order. `work`
/// delivers its result itself, on any thread, and returns the bytes that the result holds until the queue's end and
/// after. `keys` are those that `load(task)` returned for the first task of the key group; they are freed after the
/// last one. Null with a `failure`: what `load` threw, or an Error because the task needs more memory than
/// `most_of_task`. An exception from `work` ends the queue.
///
/// With a memory limit, a task begins when its bounds are free, or when nothing else is in flight.
///
/// After a stop request, or after `arrive` throws, no further task begins. Tasks in flight are finished; after a stop
/// request their work may throw Stopped instead (base/stop_scope.h), and is dropped. Returns, or rethrows the
/// exception that ended the queue, once all threads are done.
template <class Keys>
void for_each_head(
    std::span<const QueueTask> tasks, const QueueOptions& options, const std::function<Keys(std::size_t task)>& load,
    const std::function<std::uint64_t(std::size_t task, const Keys* keys, const std::exception_ptr& failure)>& work,
    const std::stop_token& stop) {
  std::vector<std::optional<Keys>> keys(tasks.size());
  run_queue(tasks, options,
            {[&](std::size_t task, std::size_t group) { keys[group].emplace(load(task)); },
             [&](std::size_t group) { keys[group].reset(); },
             [&](std::size_t task, std::size_t group, const std::exception_ptr& failure) {
               return work(task, failure ? nullptr : &*keys[group], failure);
             }},
            stop);
}

}  // namespace attention_plasticity

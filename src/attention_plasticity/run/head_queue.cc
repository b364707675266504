#include "attention_plasticity/run/head_queue.h"

#include <algorithm>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace attention_plasticity {
namespace {

// The keys of one file, shared by the tasks that read them.
struct KeyGroup {
  std::promise<LoadedKeys> promise;
  std::shared_future<LoadedKeys> keys = promise.get_future().share();
  std::uint64_t bytes = 0;
  std::size_t unfinished = 0;
  bool started = false;
};

class HeadQueue {
 public:
  HeadQueue(std::span<const HeadTask> tasks, const QueueOptions& options, const LoadKeys& load, const HeadWork& work,
            const std::stop_token& stop)
      : tasks_(tasks), options_(options), load_(load), work_(work), stop_(stop) {
    for (const HeadTask& task : tasks) {
      if (group_of_task_.empty() || task.key_file != tasks[group_of_task_.size() - 1].key_file) {
        groups_.push_back(std::make_shared<KeyGroup>());
      }
      ++groups_.back()->unfinished;
      group_of_task_.push_back(groups_.size() - 1);
    }
    bytes_.resize(tasks.size());
  }

  // The calling thread is one of the workers, so that the work is done even when no thread can be started.
  void run() {
    std::vector<std::jthread> threads;
    const auto count = std::min(static_cast<std::size_t>(std::max(1, options_.workers)), tasks_.size());
    while (threads.size() + 1 < count && start_worker(threads)) {
    }
    serve();
    threads.clear();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  // False when the system allows no more threads.
  bool start_worker(std::vector<std::jthread>& threads) {
    try {
      threads.emplace_back([this] { serve(); });
      return true;
    } catch (const std::system_error&) {
      return false;
    }
  }

  void serve() {
    while (const std::optional<std::size_t> task = take()) {
      finish(*task);
    }
  }

  // Waits for the files of the next task and for enough memory, then takes it. None when all tasks are taken, a stop
  // was requested or files did not arrive.
  std::optional<std::size_t> take() {
    // Only one worker waits for the next task. It holds a mutex of its own, so that others can finish theirs.
    const std::scoped_lock taking(taking_);
    if (next_ == tasks_.size() || failure_ || !await_files(next_)) return std::nullopt;
    std::unique_lock lock(mutex_);
    memory_freed_.wait(lock, stop_, [this] { return fits_in_memory(); });
    if (stop_.stop_requested()) return std::nullopt;
    const std::size_t task = next_++;
    in_use_ += needed(task);
    ++in_flight_;
    return task;
  }

  // The caller holds `taking_`.
  bool await_files(std::size_t task) {
    if (stop_.stop_requested()) return false;
    try {
      const HeadTask& waiting = tasks_[task];
      const TaskBytes bytes =
          options_.arrive ? options_.arrive(waiting) : TaskBytes{waiting.query_bytes, waiting.key_bytes};
      const std::scoped_lock lock(mutex_);
      bytes_[task] = bytes.queries;
      groups_[group_of_task_[task]]->bytes = bytes.keys;
      return true;
    } catch (...) {
      failure_ = std::current_exception();
      return false;
    }
  }

  bool fits_in_memory() const {
    return !options_.memory_limit || in_flight_ == 0 || in_use_ + needed(next_) <= *options_.memory_limit;
  }

  // Memory that starting the task adds: its queries, and the keys if it is the first to use them.
  std::uint64_t needed(std::size_t task) const {
    const std::size_t group = group_of_task_[task];
    const bool first = task == 0 || group_of_task_[task - 1] != group;
    return bytes_[task] + (first ? groups_[group]->bytes : 0);
  }

  void finish(std::size_t task) {
    std::shared_ptr<KeyGroup> group;
    bool first = false;
    {
      const std::scoped_lock lock(mutex_);
      group = groups_[group_of_task_[task]];
      first = !std::exchange(group->started, true);
    }
    if (first) load_into(*group, tasks_[task]);
    const LoadedKeys* keys = nullptr;
    std::exception_ptr failure;
    try {
      keys = &group->keys.get();
    } catch (...) {
      failure = std::current_exception();
    }
    work_(task, keys, failure);
    const std::scoped_lock lock(mutex_);
    in_use_ -= bytes_[task];
    --in_flight_;
    if (--group->unfinished == 0) {
      in_use_ -= group->bytes;
      groups_[group_of_task_[task]].reset();
    }
    memory_freed_.notify_all();
  }

  void load_into(KeyGroup& group, const HeadTask& task) {
    try {
      group.promise.set_value(load_(task));
    } catch (...) {
      group.promise.set_exception(std::current_exception());
    }
  }

  std::span<const HeadTask> tasks_;
  QueueOptions options_;
  const LoadKeys& load_;
  const HeadWork& work_;
  std::stop_token stop_;

  std::mutex taking_;           // held while a task is taken
  std::exception_ptr failure_;  // why no further task is taken; protected by `taking_`
  std::mutex mutex_;            // protects what follows
  std::condition_variable_any memory_freed_;
  std::vector<std::shared_ptr<KeyGroup>> groups_;
  std::vector<std::size_t> group_of_task_;
  std::vector<std::uint64_t> bytes_;  // of the queries of each task taken
  std::size_t next_ = 0;
  std::size_t in_flight_ = 0;
  std::uint64_t in_use_ = 0;
};

}  // namespace

void for_each_head(std::span<const HeadTask> tasks, const QueueOptions& options, const LoadKeys& load,
                   const HeadWork& work, const std::stop_token& stop) {
  HeadQueue(tasks, options, load, work, stop).run();
}

}  // namespace attention_plasticity

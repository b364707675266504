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
  std::promise<PreparedKeys> promise;
  std::shared_future<PreparedKeys> keys = promise.get_future().share();
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
        groups_.back()->bytes = task.key_bytes;
      }
      ++groups_.back()->unfinished;
      group_of_task_.push_back(groups_.size() - 1);
    }
  }

  // The calling thread is one of the workers, so that the work gets done even where no thread can be started.
  void run() {
    std::vector<std::jthread> threads;
    const auto count = std::min(static_cast<std::size_t>(std::max(1, options_.workers)), tasks_.size());
    while (threads.size() + 1 < count && start_worker(threads)) {
    }
    serve();
  }

 private:
  // False where the system allows no more threads.
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

  // The next task, once there is room for it; none when all are taken or a stop was requested.
  std::optional<std::size_t> take() {
    std::unique_lock lock(mutex_);
    room_.wait(lock, stop_, [this] { return next_ == tasks_.size() || has_room(); });
    if (stop_.stop_requested() || next_ == tasks_.size()) return std::nullopt;
    const std::size_t task = next_++;
    in_use_ += needed(task);
    ++in_flight_;
    return task;
  }

  bool has_room() const {
    return !options_.memory_limit || in_flight_ == 0 || in_use_ + needed(next_) <= *options_.memory_limit;
  }

  // What starting the task adds: its queries, and the keys if it is the first to read them.
  std::uint64_t needed(std::size_t task) const {
    const std::size_t group = group_of_task_[task];
    const bool first = task == 0 || group_of_task_[task - 1] != group;
    return tasks_[task].query_bytes + (first ? groups_[group]->bytes : 0);
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
    const PreparedKeys* keys = nullptr;
    std::exception_ptr failure;
    try {
      keys = &group->keys.get();
    } catch (...) {
      failure = std::current_exception();
    }
    work_(task, keys, failure);
    const std::scoped_lock lock(mutex_);
    in_use_ -= tasks_[task].query_bytes;
    --in_flight_;
    if (--group->unfinished == 0) {
      in_use_ -= group->bytes;
      groups_[group_of_task_[task]].reset();
    }
    room_.notify_all();
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

  std::mutex mutex_;
  std::condition_variable_any room_;
  std::vector<std::shared_ptr<KeyGroup>> groups_;
  std::vector<std::size_t> group_of_task_;
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

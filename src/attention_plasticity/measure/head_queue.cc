#include "attention_plasticity/measure/head_queue.h"

#include <condition_variable>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "attention_plasticity/base/large_vector.h"
#include "attention_plasticity/base/memory_limit.h"
#include "attention_plasticity/base/stop_scope.h"
#include "attention_plasticity/memory.h"

namespace attention_plasticity {
namespace {

/// Counts the memory that is reserved. Its owner holds a mutex.
class Reservations {
 public:
  explicit Reservations(const std::optional<QueueMemory>& memory)
      : memory_(memory), reserved_(memory ? memory->held : 0) {}

  bool is_limited() const { return memory_.has_value(); }
  bool has_place_for(std::uint64_t bytes) const {
    return !memory_ || (reserved_ <= memory_->limit && bytes <= memory_->limit - reserved_);
  }
  /// Reserves `bytes`, even where they exceed the limit.
  void take(std::uint64_t bytes) {
    reserved_ += bytes;
    // Blocks that are kept for the next head are memory too.
    if (memory_ && !has_place_for(kept_memory_bytes())) release_kept_memory();
  }
  void give_back(std::uint64_t bytes) { reserved_ -= bytes; }

  /// Throws the Error of a task that never fits.
  void require_fit(const TaskBytes& bytes) const {
    if (!memory_ || bytes.with_keys() <= memory_->most_of_task) return;
    throw over_memory_limit(bytes.with_keys() + (memory_->limit - memory_->most_of_task), memory_->limit);
  }
  /// True if `workers` tasks of this size come near the limit.
  bool is_tight(const TaskBytes& bytes, int workers) const {
    return memory_ && memory_->limit / static_cast<std::uint64_t>(std::max(1, workers)) < 2 * bytes.with_keys();
  }

 private:
  std::optional<QueueMemory> memory_;
  std::uint64_t reserved_;
};

/// The keys of a group, and the tasks that read them.
struct Group {
  enum class State { absent, loading, ready };
  State state = State::absent;
  std::exception_ptr failure;    // why they are not loaded
  bool is_stopped = false;       // loading was given up after a stop request
  std::uint64_t reserved = 0;    // bytes
  std::size_t unfinished = 0;    // tasks
  bool has_reservation = false;  // a task that reads them has begun
};

struct Task {
  std::size_t group = 0;
  TaskBytes bytes;
  std::exception_ptr misfit;  // why it cannot fit into memory
};

/// The workers of a queue. Each takes the next task, does it, and comes back.
class HeadQueue {
 public:
  HeadQueue(std::span<const QueueTask> tasks, const QueueOptions& options, const QueueWork& work,
            const std::stop_token& stop)
      : options_(options), work_(work), stop_(stop), memory_(options.memory), tasks_(tasks.size()) {
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if (i == 0 || tasks[i].key_group != tasks[i - 1].key_group) groups_.emplace_back();
      ++groups_.back().unfinished;
      tasks_[i].group = groups_.size() - 1;
    }
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
    try {
      while (const std::optional<std::size_t> task = take_next()) do_task(*task);
    } catch (...) {
      end_with(std::current_exception());
    }
  }

  // No further task is taken.
  void end_with(std::exception_ptr failure) {
    const std::scoped_lock lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
    changed_.notify_all();
  }

  // Waits for the files of the next task and for its memory, then takes it. None when all tasks are taken, a stop was
  // requested or the queue has failed.
  std::optional<std::size_t> take_next() {
    // Only one worker waits for the next task. It holds a mutex of its own, so that others can finish theirs.
    const std::scoped_lock taking(taking_);
    if (has_ended() || next_ == tasks_.size()) return std::nullopt;
    Task& task = tasks_[next_];
    if (options_.arrive) task.bytes = options_.arrive(next_);
    try {
      memory_.require_fit(task.bytes);
    } catch (...) {
      // The task is done without any memory: its work reports the failure.
      task.misfit = std::current_exception();
      task.bytes = {};
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop_, [&] { return failure_ || in_flight_ == 0 || memory_.has_place_for(needed(task)); });
    if (stop_.stop_requested() || failure_) return std::nullopt;
    begin(task);
    return next_++;
  }

  bool has_ended() {
    const std::scoped_lock lock(mutex_);
    return stop_.stop_requested() || failure_ != nullptr;
  }

  // The bytes that a group adds when its first task begins. While it loads the keys it does not need those of its own
  // work yet.
  static std::uint64_t bytes_of_group(const TaskBytes& bytes) { return bytes.with_keys() - bytes.queries; }

  std::uint64_t needed(const Task& task) const {
    const bool loads = !task.misfit && !groups_[task.group].has_reservation;
    return task.bytes.queries + (loads ? bytes_of_group(task.bytes) : 0);
  }

  // The caller holds `mutex_`.
  void begin(const Task& task) {
    Group& group = groups_[task.group];
    memory_.take(needed(task));
    if (!task.misfit && !group.has_reservation) {
      group.has_reservation = true;
      group.reserved = bytes_of_group(task.bytes);
    }
    ++in_flight_;
  }

  void do_task(std::size_t number) {
    const Task& task = tasks_[number];
    std::uint64_t result_bytes = 0;
    try {
      const StopScope stop([this] { return stop_.stop_requested(); });
      std::exception_ptr failure = task.misfit;
      if (!failure) failure = load_keys(number);
      result_bytes = work_.work(number, task.group, failure);
    } catch (const Stopped&) {
      result_bytes = 0;  // no further task begins after a stop
    }
    end(task, result_bytes);
  }

  // Loads the keys of a task, or waits until another task has. Returns why they are not there; null: they are. Throws
  // Stopped.
  std::exception_ptr load_keys(std::size_t number) {
    const Task& task = tasks_[number];
    Group& group = groups_[task.group];
    std::unique_lock lock(mutex_);
    if (group.state != Group::State::absent) {
      changed_.wait(lock, [&] { return group.state == Group::State::ready; });
      if (group.is_stopped) throw_stopped();
      return group.failure;
    }
    group.state = Group::State::loading;
    lock.unlock();
    std::exception_ptr failure;
    bool is_stopped = false;
    try {
      work_.load(number, task.group);
    } catch (const Stopped&) {
      is_stopped = true;
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    group.is_stopped = is_stopped;
    group.failure = failure;
    group.state = Group::State::ready;
    // Loaded keys take less than their loading did.
    const std::uint64_t left = std::min(group.reserved, failure ? 0 : task.bytes.keys);
    memory_.give_back(group.reserved - left);
    group.reserved = left;
    changed_.notify_all();
    if (is_stopped) throw_stopped();
    return failure;
  }

  void end(const Task& task, std::uint64_t result_bytes) {
    {
      const std::scoped_lock lock(mutex_);
      Group& group = groups_[task.group];
      if (--group.unfinished == 0) {
        work_.free(task.group);
        memory_.give_back(group.reserved);
        group.reserved = 0;
      }
      memory_.give_back(task.bytes.queries);
      memory_.take(result_bytes);
      --in_flight_;
      changed_.notify_all();
    }
    // Every thread has memory of its own that it freed. Where the limit is near, that would come on top of it.
    if (memory_.is_tight(task.bytes, options_.workers)) return_freed_memory();
  }

  const QueueOptions& options_;
  const QueueWork& work_;
  std::stop_token stop_;

  std::mutex taking_;     // held while a task is taken
  std::size_t next_ = 0;  // the task that is taken next; `taking_` protects it
  std::mutex mutex_;      // protects what follows, apart from the bytes of tasks
  std::condition_variable_any changed_;
  std::exception_ptr failure_;  // why no further task is taken
  Reservations memory_;
  std::vector<Group> groups_;
  std::vector<Task> tasks_;
  std::size_t in_flight_ = 0;
};

}  // namespace

void run_queue(std::span<const QueueTask> tasks, const QueueOptions& options, const QueueWork& work,
               const std::stop_token& stop) {
  HeadQueue(tasks, options, work, stop).run();
}

}  // namespace attention_plasticity

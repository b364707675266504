#include "attention_plasticity/run/head_queue.h"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "attention_plasticity/base/large_vector.h"
#include "attention_plasticity/base/memory_account.h"
#include "attention_plasticity/base/stop_scope.h"
#include "attention_plasticity/memory.h"
#include "attention_plasticity/run/kept_results.h"

namespace attention_plasticity {
namespace {

// The keys of one file, shared by the tasks that read them.
struct KeyGroup {
  enum class State { absent, loading, ready, given_up };
  State state = State::absent;
  std::unique_ptr<MemoryAccount> account;  // null: memory is not counted
  std::unique_ptr<LoadedKeys> keys;        // null: see `failure`
  std::exception_ptr failure;
  std::uint64_t load_peak = 0;  // bytes held while they were loaded
  std::uint64_t bytes = 0;      // estimated
  std::size_t in_flight = 0;    // tasks
  std::size_t unfinished = 0;   // tasks that will need the keys

  std::uint64_t held() const { return account ? account->held() : 0; }
  void free() {
    keys.reset();
    account.reset();
    state = State::absent;
  }
};

struct Task {
  std::size_t group = 0;
  bool has_arrived = false;
  bool must_be_alone = false;  // it was given up before
  bool is_alone = false;       // it is in flight, and has all memory for itself
  std::uint64_t bytes = 0;     // estimated, of its queries
  std::unique_ptr<MemoryAccount> account;
  std::unique_ptr<FinishedTask> finished;  // until it is delivered
  HeadMemory memory;                       // of the finished one
};

class HeadQueue {
 public:
  HeadQueue(std::span<const HeadTask> tasks, const QueueOptions& options, const LoadKeys& load, const HeadWork& work,
            const std::stop_token& stop)
      : heads_(tasks), options_(options), load_(load), work_(work), stop_(stop), tasks_(tasks.size()) {
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if (i == 0 || keys_of(tasks[i].head).head != keys_of(tasks[i - 1].head).head) groups_.emplace_back();
      ++groups_.back().unfinished;
      tasks_[i].group = groups_.size() - 1;
      waiting_.insert(waiting_.end(), i);
    }
    if (!options.memory_limit) return;
    budget_ = std::make_unique<MemoryBudget>(*options.memory_limit);
    budget_->take_regardless(options.held_bytes);
    results_ = std::make_unique<KeptResults>(tasks.size(), *options.memory_limit, options.held_bytes);
  }

  // The calling thread is one of the workers, so that the work is done even when no thread can be started.
  void run() {
    std::vector<std::jthread> threads;
    const auto count = std::min(static_cast<std::size_t>(std::max(1, options_.workers)), heads_.size());
    while (threads.size() + 1 < count && start_worker(threads)) {
    }
    serve();
    threads.clear();
    // After a stop, tasks may be finished whose predecessors never began.
    for (const Task& task : tasks_) {
      if (task.finished) task.finished->deliver();
    }
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
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  void serve() {
    try {
      while (const std::optional<std::size_t> task = take()) finish(*task);
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

  // Waits for the files of the next task and for enough memory, then takes it. None when all tasks are taken, a stop
  // was requested or files did not arrive.
  std::optional<std::size_t> take() {
    // Only one worker waits for the next task. It holds a mutex of its own, so that others can finish theirs.
    const std::scoped_lock taking(taking_);
    while (true) {
      std::unique_lock lock(mutex_);
      // A task in flight may be given up.
      changed_.wait(lock, stop_, [this] { return failure_ || !waiting_.empty() || in_flight_ == 0 || !budget_; });
      if (stop_.stop_requested() || failure_ || waiting_.empty()) return std::nullopt;
      const std::size_t next = *waiting_.begin();
      if (!tasks_[next].has_arrived) {
        lock.unlock();
        if (!await_files(next)) return std::nullopt;
        continue;
      }
      // Meanwhile an earlier task may be given up, and come first.
      changed_.wait(lock, stop_, [this] { return failure_ || can_begin(*waiting_.begin()); });
      if (stop_.stop_requested() || failure_) return std::nullopt;
      const std::size_t first = *waiting_.begin();
      if (tasks_[first].has_arrived && begin(first)) return first;
    }
  }

  // The caller holds `taking_`.
  bool await_files(std::size_t task) {
    try {
      const HeadTask& waiting = heads_[task];
      const TaskBytes bytes =
          options_.arrive ? options_.arrive(waiting) : TaskBytes{waiting.query_bytes, waiting.key_bytes};
      const std::scoped_lock lock(mutex_);
      tasks_[task].bytes = bytes.queries;
      tasks_[task].has_arrived = true;
      groups_[tasks_[task].group].bytes = bytes.keys;
      return true;
    } catch (...) {
      end_with(std::current_exception());
      return false;
    }
  }

  // Memory that starting the task adds: its queries, and the keys if they are not there.
  std::uint64_t needed(std::size_t task) const {
    const KeyGroup& group = groups_[tasks_[task].group];
    return tasks_[task].bytes + (group.state == KeyGroup::State::absent ? group.bytes : 0);
  }

  bool can_begin(std::size_t task) const {
    if (!budget_ || in_flight_ == 0) return true;
    if (is_alone_ || tasks_[task].must_be_alone) return false;
    if (groups_[tasks_[task].group].state == KeyGroup::State::given_up) return false;
    const std::uint64_t taken = budget_->taken();
    return taken <= budget_->limit() && needed(task) <= budget_->limit() - taken;
  }

  // False when the memory was taken meanwhile. The caller holds `mutex_`.
  bool begin(std::size_t number) {
    Task& task = tasks_[number];
    KeyGroup& group = groups_[task.group];
    if (budget_ && !take_memory(number)) return false;
    waiting_.erase(number);
    ++in_flight_;
    ++group.in_flight;
    is_alone_ = task.is_alone;
    return true;
  }

  bool take_memory(std::size_t number) {
    Task& task = tasks_[number];
    KeyGroup& group = groups_[task.group];
    const bool loads = group.state == KeyGroup::State::absent;
    const bool may_be_alone = in_flight_ == 0;
    const bool wants_to_be_alone = options_.workers <= 1 || task.must_be_alone;
    if ((!may_be_alone || !wants_to_be_alone) && budget_->take(needed(number))) {
      task.is_alone = false;
      task.account = std::make_unique<MemoryAccount>(*budget_, task.bytes);
      if (loads) group.account = std::make_unique<MemoryAccount>(*budget_, group.bytes);
      return true;
    }
    if (!may_be_alone) return false;
    task.is_alone = true;
    make_room_for(task.group);
    if (loads) group.account = MemoryAccount::alone(*budget_, results_->most_of_next());
    return true;
  }

  // Frees all memory that other tasks left: results that are not delivered yet, and the keys of other groups.
  void make_room_for(std::size_t own_group) {
    for (std::size_t i = results_->next(); i < tasks_.size(); ++i) {
      if (!tasks_[i].finished) continue;
      budget_->give_back(tasks_[i].memory.result);
      put_back(i);
    }
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (i != own_group && groups_[i].keys) groups_[i].free();
    }
    release_kept_memory();
    return_freed_memory();
  }

  // A finished task, whose result is dropped, is to be done again.
  void put_back(std::size_t number) {
    Task& task = tasks_[number];
    task.finished.reset();
    ++groups_[task.group].unfinished;
    waiting_.insert(number);
  }

  void finish(std::size_t number) {
    Task& task = tasks_[number];
    KeyGroup& group = groups_[task.group];
    prepare_keys(number);
    std::unique_ptr<FinishedTask> finished;
    if (group.state != KeyGroup::State::given_up) {
      if (task.is_alone) {
        const std::uint64_t most = results_->most_of_next();
        task.account = MemoryAccount::alone(*budget_, most - std::min(most, group.held()));
      }
      finished = work_on(number, group.failure);
    }
    HeadMemory memory;
    if (budget_ && finished) {
      memory.peak = std::max(group.load_peak, group.held() + task.account->peak());
      memory.result = finished->result_bytes;
    }
    end(number, std::move(finished), memory);
  }

  // The finished task; none when it is given up.
  std::unique_ptr<FinishedTask> work_on(std::size_t number, const std::exception_ptr& key_failure) {
    Task& task = tasks_[number];
    const KeyGroup& group = groups_[task.group];
    std::exception_ptr failure = key_failure;
    if (!failure) {
      try {
        const MemoryAccount::Scope scope(task.account.get());
        const StopScope stop([this] { return stop_.stop_requested(); });
        return std::make_unique<FinishedTask>(work_(number, group.keys.get(), nullptr));
      } catch (const Stopped&) {
        return nullptr;  // no task is begun again after a stop
      } catch (...) {
        failure = refusal_or_current(task.account.get());
      }
      if (as_over_limit(failure) && !task.is_alone) return nullptr;
    }
    if (const std::optional<OverMemoryLimit> over = as_over_limit(failure)) {
      // The head would also hold its keys, beside the results.
      const std::uint64_t others = results_->limit() - std::min(results_->limit(), over->limit());
      failure = std::make_exception_ptr(OverMemoryLimit(over->needed() + others, results_->limit(), over->what_for()));
    }
    return std::make_unique<FinishedTask>(work_(number, nullptr, failure));
  }

  // Loads the keys, or waits until another task has.
  void prepare_keys(std::size_t number) {
    KeyGroup& group = groups_[tasks_[number].group];
    std::unique_lock lock(mutex_);
    if (group.state != KeyGroup::State::absent) {
      changed_.wait(lock, [&] { return group.state != KeyGroup::State::loading; });
      return;
    }
    group.state = KeyGroup::State::loading;
    lock.unlock();
    std::unique_ptr<LoadedKeys> keys;
    std::exception_ptr failure = group.failure;  // it did not fit alone
    bool is_stopped = false;
    if (!failure) {
      try {
        const MemoryAccount::Scope scope(group.account.get());
        const StopScope stop([this] { return stop_.stop_requested(); });
        keys = std::make_unique<LoadedKeys>(load_(heads_[number]));
      } catch (const Stopped&) {
        is_stopped = true;  // no task is begun again after a stop
      } catch (...) {
        failure = refusal_or_current(group.account.get());
      }
    }
    lock.lock();
    const bool is_given_up = is_stopped || (!tasks_[number].is_alone && !group.failure && as_over_limit(failure));
    if (group.account) {
      group.load_peak = group.account->peak();
      group.account->settle();
    }
    group.keys = std::move(keys);
    if (!is_given_up) group.failure = failure;
    group.state = is_given_up ? KeyGroup::State::given_up : KeyGroup::State::ready;
    changed_.notify_all();
  }

  // Not finished: the task is given up, and will be tried again alone.
  void end(std::size_t number, std::unique_ptr<FinishedTask> finished, const HeadMemory& memory) {
    std::vector<std::pair<std::size_t, FinishedTask>> to_deliver;
    {
      const std::scoped_lock lock(mutex_);
      Task& task = tasks_[number];
      KeyGroup& group = groups_[task.group];
      task.account.reset();
      --in_flight_;
      --group.in_flight;
      is_alone_ = false;
      if (finished) {
        --group.unfinished;
        task.finished = std::move(finished);
        task.memory = memory;
        if (budget_) budget_->take_regardless(memory.result);
      } else {
        task.must_be_alone = true;
        waiting_.insert(number);
      }
      const bool is_unused = group.in_flight == 0;
      if (is_unused && (group.unfinished == 0 || group.state == KeyGroup::State::given_up)) group.free();
      to_deliver = decided(number);
      changed_.notify_all();
    }
    for (auto& [task, outcome] : to_deliver) outcome.deliver();
    // Every thread has memory of its own that it freed. Where the limit is near, that would come on top of it.
    if (budget_ && is_tight(memory)) return_freed_memory();
  }

  bool is_tight(const HeadMemory& head) const {
    return budget_->limit() / static_cast<std::uint64_t>(std::max(1, options_.workers)) < 2 * head.peak;
  }

  // The tasks that are known to fit, or not to, now that this one has ended. The caller holds `mutex_`.
  std::vector<std::pair<std::size_t, FinishedTask>> decided(std::size_t number) {
    std::vector<std::pair<std::size_t, FinishedTask>> ready;
    const auto pass_on = [&](std::size_t task) {
      ready.emplace_back(task, std::move(*tasks_[task].finished));
      tasks_[task].finished.reset();
    };
    if (!budget_) {
      if (tasks_[number].finished) pass_on(number);
      return ready;
    }
    if (tasks_[number].finished && number != results_->next() && results_->fits_anyway(tasks_[number].memory)) {
      results_->keep(number, tasks_[number].memory.result);
      pass_on(number);
    }
    while (results_->next() < tasks_.size() && tasks_[results_->next()].finished) {
      const std::size_t next = results_->next();
      Task& task = tasks_[next];
      const std::optional<OverMemoryLimit> refusal =
          task.finished->has_failed ? std::nullopt : results_->refusal_of_next(task.memory);
      if (refusal) {
        budget_->give_back(task.memory.result);
        if (!task.is_alone) {
          // It fitted only because heads before it had not ended. Alone, it fails in the same words as always.
          task.must_be_alone = true;
          put_back(next);
          break;
        }
        task.finished = std::make_unique<FinishedTask>(work_(next, nullptr, std::make_exception_ptr(*refusal)));
        task.memory.result = task.finished->result_bytes;
        budget_->take_regardless(task.memory.result);
      }
      results_->keep(next, task.memory.result);
      pass_on(next);
    }
    return ready;
  }

  std::span<const HeadTask> heads_;
  QueueOptions options_;
  const LoadKeys& load_;
  const HeadWork& work_;
  std::stop_token stop_;

  std::mutex taking_;  // held while a task is taken
  std::mutex mutex_;   // protects what follows
  std::condition_variable_any changed_;
  std::exception_ptr failure_;            // why no further task is taken
  std::unique_ptr<MemoryBudget> budget_;  // null: memory is not counted
  std::unique_ptr<KeptResults> results_;  // likewise
  std::vector<KeyGroup> groups_;
  std::vector<Task> tasks_;
  std::set<std::size_t> waiting_;  // tasks to begin
  std::size_t in_flight_ = 0;
  bool is_alone_ = false;  // the task in flight has all memory for itself
};

}  // namespace

void for_each_head(std::span<const HeadTask> tasks, const QueueOptions& options, const LoadKeys& load,
                   const HeadWork& work, const std::stop_token& stop) {
  HeadQueue(tasks, options, load, work, stop).run();
}

}  // namespace attention_plasticity

#include "attention_plasticity/run/head_queue.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "attention_plasticity/base/stop_scope.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/run/head_queue_testing.h"

namespace attention_plasticity {
namespace {

using namespace std::chrono_literals;

// What a queue did, recorded by the functions given to it.
class Ledger {
 public:
  explicit Ledger(std::span<const HeadTask> tasks) : tasks_(tasks) {
    for (const HeadTask& task : tasks) ++unfinished_[task.head.k_head];
  }

  void loaded(const HeadTask& task, const QueueOptions& options) {
    const std::scoped_lock lock(mutex_);
    ++loads_[task.head.k_head];
    held_[task.head.k_head] = take_estimate(task.key_bytes, options);
    bytes_ += held_[task.head.k_head];
    note_peak();
  }
  void begin(std::size_t task) {
    const std::scoped_lock lock(mutex_);
    begun_.push_back(task);
    ++in_flight_;
    bytes_ += tasks_[task].query_bytes;
    note_peak();
  }
  void end(std::size_t task) {
    const std::scoped_lock lock(mutex_);
    ++ended_;
    --in_flight_;
    bytes_ -= tasks_[task].query_bytes;
    if (--unfinished_[tasks_[task].head.k_head] == 0) bytes_ -= held_[tasks_[task].head.k_head];
  }

  const std::vector<std::size_t>& begun() const { return begun_; }
  std::size_t ended() const { return ended_; }
  const std::map<int, int>& loads() const { return loads_; }
  std::size_t most_in_flight() const { return most_in_flight_; }
  /// The most bytes in use while two or more tasks were in flight.
  std::uint64_t most_bytes_together() const { return most_bytes_together_; }

 private:
  void note_peak() {
    most_in_flight_ = std::max(most_in_flight_, in_flight_);
    if (in_flight_ > 1) most_bytes_together_ = std::max(most_bytes_together_, bytes_);
  }

  std::span<const HeadTask> tasks_;
  std::mutex mutex_;
  std::map<int, std::size_t> unfinished_;
  std::map<int, int> loads_;
  std::map<int, std::uint64_t> held_;  // by keys
  std::vector<std::size_t> begun_;
  std::size_t ended_ = 0;
  std::size_t in_flight_ = 0;
  std::size_t most_in_flight_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t most_bytes_together_ = 0;
};

void run(std::span<const HeadTask> tasks, const QueueOptions& options, Ledger& ledger,
         std::chrono::microseconds work_time = 0us) {
  for_each_task(
      tasks, options,
      [&](const HeadTask& task) {
        ledger.loaded(task, options);
        return loaded_keys_of(task);
      },
      [&](std::size_t task, const LoadedKeys* keys, const std::exception_ptr& failure) {
        ledger.begin(task);
        EXPECT_EQ(failure, nullptr);
        ASSERT_NE(keys, nullptr);
        EXPECT_EQ(keys->keys.rows.view().width, static_cast<std::size_t>(tasks[task].head.k_head));
        std::this_thread::sleep_for(work_time);
        ledger.end(task);
      },
      {});
}

std::vector<std::size_t> first_numbers(std::size_t count) {
  std::vector<std::size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  return numbers;
}

void expect_each_task_once(const Ledger& ledger, std::size_t tasks) {
  std::vector<std::size_t> begun = ledger.begun();
  std::ranges::sort(begun);
  EXPECT_EQ(begun, first_numbers(tasks));
  EXPECT_EQ(ledger.ended(), tasks);
}

// Waits until `count` threads have arrived; false when they do not.
class Meeting {
 public:
  explicit Meeting(std::size_t count) : count_(count) {}

  bool join() {
    std::unique_lock lock(mutex_);
    if (++here_ >= count_) all_here_.notify_all();
    return all_here_.wait_for(lock, 10s, [this] { return here_ >= count_; });
  }

 private:
  std::size_t count_;
  std::size_t here_ = 0;
  std::mutex mutex_;
  std::condition_variable all_here_;
};

TEST(HeadQueue, RunsEveryTaskOnceAndLoadsKeysOnceForAnyNumberOfWorkers) {
  const std::vector<HeadTask> tasks = tasks_of_groups({3, 1, 4, 2, 5});
  for (int workers = 1; workers <= 8; ++workers) {
    Ledger ledger(tasks);
    run(tasks, with_workers(workers), ledger);
    expect_each_task_once(ledger, tasks.size());
    EXPECT_EQ(ledger.loads(), (std::map<int, int>{{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}})) << workers << " workers";
    EXPECT_LE(ledger.most_in_flight(), static_cast<std::size_t>(workers));
  }
}

TEST(HeadQueue, StartsTasksInOrder) {
  const std::vector<HeadTask> tasks = tasks_of_groups({2, 3});
  Ledger ledger(tasks);
  run(tasks, with_workers(1), ledger);
  EXPECT_EQ(ledger.begun(), first_numbers(5));
}

TEST(HeadQueue, ReturnsAtOnceWithoutTasks) {
  Ledger ledger({});
  run({}, with_workers(4), ledger);
  EXPECT_TRUE(ledger.begun().empty());
}

TEST(HeadQueue, HasAtLeastOneWorker) {
  const std::vector<HeadTask> tasks = tasks_of_groups({2});
  Ledger ledger(tasks);
  run(tasks, with_workers(0), ledger);
  expect_each_task_once(ledger, 2);
}

TEST(HeadQueue, WorksOnAsManyTasksAsItHasWorkers) {
  const std::vector<HeadTask> tasks = tasks_of_groups({2, 1, 1});
  Meeting meeting(4);
  std::atomic<int> met = 0;
  for_each_task(tasks, with_workers(4), loaded_keys_of,
                [&](std::size_t, const LoadedKeys*, const std::exception_ptr&) { met += meeting.join() ? 1 : 0; }, {});
  EXPECT_EQ(met, 4);
}

TEST(HeadQueue, GivesTheSameKeysToAllTasksOfAGroup) {
  const std::vector<HeadTask> tasks = tasks_of_groups({3, 3});
  std::mutex mutex;
  std::map<int, std::set<const LoadedKeys*>> seen;
  Meeting meeting(6);
  for_each_task(tasks, with_workers(6), loaded_keys_of,
                [&](std::size_t task, const LoadedKeys* keys, const std::exception_ptr&) {
                  meeting.join();
                  const std::scoped_lock lock(mutex);
                  seen[tasks[task].head.k_head].insert(keys);
                },
                {});
  EXPECT_EQ(seen[0].size(), 1U);
  EXPECT_EQ(seen[1].size(), 1U);
  EXPECT_NE(seen[0], seen[1]);
}

TEST(HeadQueue, TellsAFailureOfLoadingToEachTaskOfThatGroupAndToNoOther) {
  const std::vector<HeadTask> tasks = tasks_of_groups({2, 3, 2});
  for (int workers = 1; workers <= 8; ++workers) {
    std::mutex mutex;
    std::map<std::size_t, std::string> told;
    int failed_loads = 0;
    for_each_task(
        tasks, with_workers(workers),
        [&](const HeadTask& task) {
          if (task.head.k_head != 1) return loaded_keys_of(task);
          const std::scoped_lock lock(mutex);
          ++failed_loads;
          throw Error(ErrorKind::input, "broken keys", "k1");
        },
        [&](std::size_t task, const LoadedKeys* keys, const std::exception_ptr& failure) {
          EXPECT_EQ(keys == nullptr, failure != nullptr);
          std::string message;
          try {
            if (failure) std::rethrow_exception(failure);
          } catch (const Error& error) {
            message = error.file() + ": " + error.what();
          }
          const std::scoped_lock lock(mutex);
          EXPECT_TRUE(told.emplace(task, message).second);
        },
        {});
    EXPECT_EQ(failed_loads, 1);
    const std::string failure = "k1: broken keys";
    EXPECT_EQ(told, (std::map<std::size_t, std::string>{
                        {0, ""}, {1, ""}, {2, failure}, {3, failure}, {4, failure}, {5, ""}, {6, ""}}))
        << workers << " workers";
  }
}

TEST(HeadQueue, FillsTheMemoryLimitAndDoesNotPassIt) {
  // Keys of 40 and two queries of 30 fit into 100, three do not.
  const std::vector<HeadTask> tasks = tasks_of_groups({6}, 30, 40);
  Ledger ledger(tasks);
  run(tasks, {.workers = 4, .memory_limit = 100}, ledger, 5ms);
  expect_each_task_once(ledger, tasks.size());
  EXPECT_EQ(ledger.most_in_flight(), 2U);
  EXPECT_EQ(ledger.most_bytes_together(), 100U);
}

TEST(HeadQueue, CountsTheKeysOfAGroupUntilItsLastTaskEnds) {
  // The first task of the second group needs 70. With the 40 of the first group's keys that is above the limit.
  const std::vector<HeadTask> tasks = tasks_of_groups({2, 2}, 30, 40);
  Ledger ledger(tasks);
  run(tasks, {.workers = 2, .memory_limit = 100}, ledger, 5ms);
  expect_each_task_once(ledger, tasks.size());
  EXPECT_LE(ledger.most_bytes_together(), 100U);
}

TEST(HeadQueue, GivesMemoryBackWhenATaskAndItsGroupEnd) {
  // The first group takes the whole limit, and so do the two tasks of the second group together.
  std::vector<HeadTask> tasks = tasks_of_groups({1, 2}, 30, 40);
  tasks[0].query_bytes = tasks[0].key_bytes = 50;
  Meeting meeting(2);
  std::atomic<int> met = 0;
  for_each_task(tasks, {.workers = 2, .memory_limit = 100}, loaded_keys_of,
                [&](std::size_t task, const LoadedKeys*, const std::exception_ptr&) {
                  if (task > 0) met += meeting.join() ? 1 : 0;
                },
                {});
  EXPECT_EQ(met, 2);
}

TEST(HeadQueue, RunsATaskThatIsTooLargeAlone) {
  std::vector<HeadTask> tasks = tasks_of_groups({1, 1, 1, 1, 1, 1}, 10, 10);
  tasks[2].query_bytes = 1000;
  Ledger ledger(tasks);
  run(tasks, {.workers = 6, .memory_limit = 60}, ledger, 2ms);
  expect_each_task_once(ledger, tasks.size());
  EXPECT_LE(ledger.most_bytes_together(), 60U);
  Ledger alone(tasks);
  run(tasks, {.workers = 6, .memory_limit = 1}, alone, 100us);
  expect_each_task_once(alone, tasks.size());
  EXPECT_EQ(alone.most_in_flight(), 1U);
}

TEST(HeadQueue, BeginsNothingAfterAStopRequest) {
  const std::vector<HeadTask> tasks = tasks_of_groups({2, 2});
  std::stop_source stop;
  stop.request_stop();
  for_each_task(
      tasks, with_workers(2), loaded_keys_of,
      [&](std::size_t task, const LoadedKeys*, const std::exception_ptr&) { ADD_FAILURE() << task; }, stop.get_token());
}

TEST(HeadQueue, FinishesWhatItHasBegunAfterAStopRequest) {
  const std::vector<HeadTask> tasks = tasks_of_groups({4, 4});
  std::stop_source stop;
  std::vector<std::size_t> ended;
  for_each_task(
      tasks, with_workers(1), loaded_keys_of,
      [&](std::size_t task, const LoadedKeys* keys, const std::exception_ptr&) {
        if (task == 2) stop.request_stop();
        EXPECT_NE(keys, nullptr);
        ended.push_back(task);
      },
      stop.get_token());
  EXPECT_EQ(ended, first_numbers(3));
}

TEST(HeadQueue, DropsWorkThatGivesUpAfterAStopRequest) {
  const std::vector<HeadTask> tasks = tasks_of_groups({4, 4});
  std::stop_source stop;
  std::vector<std::size_t> ended;
  for_each_task(
      tasks, with_workers(1), loaded_keys_of,
      [&](std::size_t task, const LoadedKeys*, const std::exception_ptr&) {
        throw_if_stopped();
        if (task == 2) stop.request_stop();
        throw_if_stopped();
        ended.push_back(task);
      },
      stop.get_token());
  EXPECT_EQ(ended, first_numbers(2));
}

TEST(HeadQueue, StopsAllItsWorkers) {
  const std::vector<HeadTask> tasks = tasks_of_groups(std::vector<std::size_t>(100, 2));
  std::stop_source stop;
  Meeting meeting(3);
  std::atomic<int> begun = 0;
  std::atomic<int> ended = 0;
  for_each_task(
      tasks, with_workers(3), loaded_keys_of,
      [&](std::size_t, const LoadedKeys*, const std::exception_ptr&) {
        ++begun;
        meeting.join();
        stop.request_stop();
        ++ended;
      },
      stop.get_token());
  // Each worker stops the queue before it could take a second task.
  EXPECT_EQ(begun, 3);
  EXPECT_EQ(ended, begun);
}

TEST(HeadQueue, StopsWorkersThatWaitForRoom) {
  const std::vector<HeadTask> tasks = tasks_of_groups({1, 1, 1}, 100, 0);
  std::stop_source stop;
  std::atomic<int> begun = 0;
  for_each_task(
      tasks, {.workers = 3, .memory_limit = 100}, loaded_keys_of,
      [&](std::size_t, const LoadedKeys*, const std::exception_ptr&) {
        ++begun;
        std::this_thread::sleep_for(20ms);
        stop.request_stop();
      },
      stop.get_token());
  EXPECT_EQ(begun, 1);
}

// Random lists, limits and workers: all tasks end, and together they stay within the limit.
RC_GTEST_PROP(HeadQueue, EndsWithinItsLimitForAnyTasks, ()) {
  const auto sizes = *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(1, 5));
  std::vector<HeadTask> tasks = tasks_of_groups(sizes);
  std::map<int, std::uint64_t> key_bytes;
  for (HeadTask& task : tasks) {
    if (!key_bytes.contains(task.head.k_head)) key_bytes[task.head.k_head] = *rc::gen::inRange<std::uint64_t>(0, 60);
    task.key_bytes = key_bytes[task.head.k_head];
    task.query_bytes = *rc::gen::inRange<std::uint64_t>(0, 80);
  }
  const QueueOptions options{.workers = *rc::gen::inRange(1, 9),
                             .memory_limit = *rc::gen::inRange<std::uint64_t>(0, 200)};
  Ledger ledger(tasks);
  run(tasks, options, ledger, std::chrono::microseconds(*rc::gen::inRange(0, 50)));
  expect_each_task_once(ledger, tasks.size());
  RC_ASSERT(!testing::Test::HasFailure());
  RC_ASSERT(ledger.most_bytes_together() <= *options.memory_limit);
  for (const auto& [group, loads] : ledger.loads()) RC_ASSERT(loads == 1);
}

}  // namespace
}  // namespace attention_plasticity

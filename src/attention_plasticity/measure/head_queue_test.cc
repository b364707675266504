#include "attention_plasticity/measure/head_queue.h"

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
#include "attention_plasticity/measure/head_queue_testing.h"

namespace attention_plasticity {
namespace {

using namespace std::chrono_literals;

// What a queue did, recorded by the functions given to it.
class Ledger {
 public:
  explicit Ledger(std::span<const TestTask> tasks) : tasks_(tasks) {
    for (const TestTask& task : tasks) ++unfinished_[task.group];
  }

  void loaded(std::size_t task) {
    const std::scoped_lock lock(mutex_);
    const std::size_t group = tasks_[task].group;
    ++loads_[group];
    held_[group] = tasks_[task].bytes.keys;
    bytes_ += held_[group];
    note_peak();
  }
  void begin(std::size_t task) {
    const std::scoped_lock lock(mutex_);
    begun_.push_back(task);
    ++in_flight_;
    bytes_ += tasks_[task].bytes.queries;
    note_peak();
  }
  void end(std::size_t task) {
    const std::scoped_lock lock(mutex_);
    ++ended_;
    --in_flight_;
    bytes_ -= tasks_[task].bytes.queries;
    if (--unfinished_[tasks_[task].group] == 0) bytes_ -= held_[tasks_[task].group];
  }

  const std::vector<std::size_t>& begun() const { return begun_; }
  std::size_t ended() const { return ended_; }
  const std::map<std::size_t, int>& loads() const { return loads_; }
  std::size_t most_in_flight() const { return most_in_flight_; }
  /// The most bytes in use while two or more tasks were in flight.
  std::uint64_t most_bytes_together() const { return most_bytes_together_; }

 private:
  void note_peak() {
    most_in_flight_ = std::max(most_in_flight_, in_flight_);
    if (in_flight_ > 1) most_bytes_together_ = std::max(most_bytes_together_, bytes_);
  }

  std::span<const TestTask> tasks_;
  std::mutex mutex_;
  std::map<std::size_t, std::size_t> unfinished_;
  std::map<std::size_t, int> loads_;
  std::map<std::size_t, std::uint64_t> held_;  // by keys
  std::vector<std::size_t> begun_;
  std::size_t ended_ = 0;
  std::size_t in_flight_ = 0;
  std::size_t most_in_flight_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t most_bytes_together_ = 0;
};

void run(std::span<const TestTask> tasks, const QueueOptions& options, Ledger& ledger,
         std::chrono::microseconds work_time = 0us) {
  for_each_task(
      tasks, options,
      [&](std::size_t task) {
        ledger.loaded(task);
        return tasks[task].group;
      },
      [&](std::size_t task, const TestKeys* keys, const std::exception_ptr& failure) {
        ledger.begin(task);
        EXPECT_EQ(failure, nullptr);
        ASSERT_NE(keys, nullptr);
        EXPECT_EQ(*keys, tasks[task].group);
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
  const std::vector<TestTask> tasks = tasks_of_groups({3, 1, 4, 2, 5});
  for (int workers = 1; workers <= 8; ++workers) {
    Ledger ledger(tasks);
    run(tasks, with_workers(workers), ledger);
    expect_each_task_once(ledger, tasks.size());
    EXPECT_EQ(ledger.loads(), (std::map<std::size_t, int>{{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}}))
        << workers << " workers";
    EXPECT_LE(ledger.most_in_flight(), static_cast<std::size_t>(workers));
  }
}

TEST(HeadQueue, StartsTasksInOrder) {
  const std::vector<TestTask> tasks = tasks_of_groups({2, 3});
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
  const std::vector<TestTask> tasks = tasks_of_groups({2});
  Ledger ledger(tasks);
  run(tasks, with_workers(0), ledger);
  expect_each_task_once(ledger, 2);
}

TEST(HeadQueue, WorksOnAsManyTasksAsItHasWorkers) {
  const std::vector<TestTask> tasks = tasks_of_groups({2, 1, 1});
  Meeting meeting(4);
  std::atomic<int> met = 0;
  for_each_task(tasks, with_workers(4), keys_of(tasks),
                [&](std::size_t, const TestKeys*, const std::exception_ptr&) { met += meeting.join() ? 1 : 0; }, {});
  EXPECT_EQ(met, 4);
}

TEST(HeadQueue, GivesTheSameKeysToAllTasksOfAGroup) {
  const std::vector<TestTask> tasks = tasks_of_groups({3, 3});
  std::mutex mutex;
  std::map<std::size_t, std::set<const TestKeys*>> seen;
  Meeting meeting(6);
  for_each_task(tasks, with_workers(6), keys_of(tasks),
                [&](std::size_t task, const TestKeys* keys, const std::exception_ptr&) {
                  meeting.join();
                  const std::scoped_lock lock(mutex);
                  seen[tasks[task].group].insert(keys);
                },
                {});
  EXPECT_EQ(seen[0].size(), 1U);
  EXPECT_EQ(seen[1].size(), 1U);
  EXPECT_NE(seen[0], seen[1]);
}

TEST(HeadQueue, TellsAFailureOfLoadingToEachTaskOfThatGroupAndToNoOther) {
  const std::vector<TestTask> tasks = tasks_of_groups({2, 3, 2});
  for (int workers = 1; workers <= 8; ++workers) {
    std::mutex mutex;
    std::map<std::size_t, std::string> told;
    int failed_loads = 0;
    for_each_task(
        tasks, with_workers(workers),
        [&](std::size_t task) {
          if (tasks[task].group != 1) return tasks[task].group;
          const std::scoped_lock lock(mutex);
          ++failed_loads;
          throw Error(ErrorKind::input, "broken keys", "k1");
        },
        [&](std::size_t task, const TestKeys* keys, const std::exception_ptr& failure) {
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
  const std::vector<TestTask> tasks = tasks_of_groups({6}, {30, 40, 40});
  Ledger ledger(tasks);
  run(tasks, with_memory(4, 100), ledger, 5ms);
  expect_each_task_once(ledger, tasks.size());
  EXPECT_EQ(ledger.most_in_flight(), 2U);
  EXPECT_EQ(ledger.most_bytes_together(), 100U);
}

TEST(HeadQueue, CountsTheKeysOfAGroupUntilItsLastTaskEnds) {
  // The first task of the second group needs 70. With the 40 of the first group's keys that is above the limit.
  const std::vector<TestTask> tasks = tasks_of_groups({2, 2}, {30, 40, 40});
  Ledger ledger(tasks);
  run(tasks, with_memory(2, 100), ledger, 5ms);
  expect_each_task_once(ledger, tasks.size());
  EXPECT_LE(ledger.most_bytes_together(), 100U);
}

TEST(HeadQueue, GivesMemoryBackWhenATaskAndItsGroupEnd) {
  // The first group takes the whole limit, and so do the two tasks of the second group together.
  std::vector<TestTask> tasks = tasks_of_groups({1, 2}, {30, 40, 40});
  tasks[0].bytes = {50, 50, 50};
  Meeting meeting(2);
  std::atomic<int> met = 0;
  for_each_task(tasks, with_memory(2, 100), keys_of(tasks),
                [&](std::size_t task, const TestKeys*, const std::exception_ptr&) {
                  if (task > 0) met += meeting.join() ? 1 : 0;
                },
                {});
  EXPECT_EQ(met, 2);
}

TEST(HeadQueue, FailsATaskThatIsTooLargeAndRunsTheOthers) {
  for (int workers = 1; workers <= 6; ++workers) {
    constexpr std::uint64_t mib = std::uint64_t{1} << 20;
    std::vector<TestTask> tasks = tasks_of_groups({2, 2, 2}, {10 * mib, 10 * mib, 20 * mib});
    tasks[2].bytes.queries = 1000 * mib;
    tasks[5].bytes.loading = 61 * mib;
    std::mutex mutex;
    std::map<std::size_t, std::string> failures;
    std::map<std::size_t, int> loads;
    for_each_task(
        tasks, with_memory(workers, 60 * mib),
        [&](std::size_t task) {
          const std::scoped_lock lock(mutex);
          ++loads[tasks[task].group];
          return tasks[task].group;
        },
        [&](std::size_t task, const TestKeys* keys, const std::exception_ptr& failure) {
          EXPECT_EQ(keys == nullptr, failure != nullptr);
          const std::scoped_lock lock(mutex);
          try {
            if (failure) std::rethrow_exception(failure);
          } catch (const Error& error) {
            failures[task] = error.what();
          }
        },
        {});
    EXPECT_EQ(failures, (std::map<std::size_t, std::string>{
                            {2,
                             "this head needs up to 1010.0 MiB of memory, and `memory_limit` is 60.0 MiB; raise "
                             "`memory_limit`, or lower `max_tokens_per_head`"},
                            {5,
                             "this head needs up to 61.0 MiB of memory, and `memory_limit` is 60.0 MiB; raise "
                             "`memory_limit`, or lower `max_tokens_per_head`"}}));
    EXPECT_EQ(loads, (std::map<std::size_t, int>{{0, 1}, {1, 1}, {2, 1}}));
  }
}

TEST(HeadQueue, CountsTheMemoryThatLoadingTakes) {
  // Two groups load at once only if both have 60.
  const std::vector<TestTask> tasks = tasks_of_groups({1, 1, 1, 1}, {10, 5, 60});
  std::atomic<int> loading = 0;
  std::atomic<int> most = 0;
  for_each_task(
      tasks, with_memory(4, 100),
      [&](std::size_t task) {
        const int now = ++loading;
        for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
        }
        std::this_thread::sleep_for(2ms);
        --loading;
        return tasks[task].group;
      },
      [](std::size_t, const TestKeys*, const std::exception_ptr&) { std::this_thread::sleep_for(5ms); }, {});
  EXPECT_EQ(most, 1);
}

TEST(HeadQueue, CountsResults) {
  // After two tasks, their results leave place for one task at a time.
  const std::vector<QueueTask> tasks(6);
  std::mutex mutex;
  std::size_t in_flight = 0;
  std::size_t begun = 0;
  std::size_t most_after_two = 0;
  QueueOptions options = with_memory(2, 100);
  options.arrive = [](std::size_t) { return TaskBytes{40, 0, 0}; };
  for_each_head<int>(
      tasks, options, [](std::size_t) { return 0; },
      [&](std::size_t, const int*, const std::exception_ptr&) {
        {
          const std::scoped_lock lock(mutex);
          ++in_flight;
          if (++begun > 3) most_after_two = std::max(most_after_two, in_flight);
        }
        std::this_thread::sleep_for(5ms);
        const std::scoped_lock lock(mutex);
        --in_flight;
        return std::uint64_t{12};
      },
      {});
  EXPECT_EQ(most_after_two, 1U);
}

TEST(HeadQueue, BeginsNothingAfterAStopRequest) {
  const std::vector<TestTask> tasks = tasks_of_groups({2, 2});
  std::stop_source stop;
  stop.request_stop();
  for_each_task(
      tasks, with_workers(2), keys_of(tasks),
      [&](std::size_t task, const TestKeys*, const std::exception_ptr&) { ADD_FAILURE() << task; }, stop.get_token());
}

TEST(HeadQueue, FinishesWhatItHasBegunAfterAStopRequest) {
  const std::vector<TestTask> tasks = tasks_of_groups({4, 4});
  std::stop_source stop;
  std::vector<std::size_t> ended;
  for_each_task(
      tasks, with_workers(1), keys_of(tasks),
      [&](std::size_t task, const TestKeys* keys, const std::exception_ptr&) {
        if (task == 2) stop.request_stop();
        EXPECT_NE(keys, nullptr);
        ended.push_back(task);
      },
      stop.get_token());
  EXPECT_EQ(ended, first_numbers(3));
}

TEST(HeadQueue, DropsWorkThatGivesUpAfterAStopRequest) {
  const std::vector<TestTask> tasks = tasks_of_groups({4, 4});
  std::stop_source stop;
  std::vector<std::size_t> ended;
  for_each_task(
      tasks, with_workers(1), keys_of(tasks),
      [&](std::size_t task, const TestKeys*, const std::exception_ptr&) {
        throw_if_stopped();
        if (task == 2) stop.request_stop();
        throw_if_stopped();
        ended.push_back(task);
      },
      stop.get_token());
  EXPECT_EQ(ended, first_numbers(2));
}

TEST(HeadQueue, StopsAllItsWorkers) {
  const std::vector<TestTask> tasks = tasks_of_groups(std::vector<std::size_t>(100, 2));
  std::stop_source stop;
  Meeting meeting(3);
  std::atomic<int> begun = 0;
  std::atomic<int> ended = 0;
  for_each_task(
      tasks, with_workers(3), keys_of(tasks),
      [&](std::size_t, const TestKeys*, const std::exception_ptr&) {
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
  const std::vector<TestTask> tasks = tasks_of_groups({1, 1, 1}, {100, 0, 0});
  std::stop_source stop;
  std::atomic<int> begun = 0;
  for_each_task(
      tasks, with_memory(3, 100), keys_of(tasks),
      [&](std::size_t, const TestKeys*, const std::exception_ptr&) {
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
  std::vector<TestTask> tasks = tasks_of_groups(sizes);
  std::map<std::size_t, std::uint64_t> key_bytes;
  for (TestTask& task : tasks) {
    if (!key_bytes.contains(task.group)) key_bytes[task.group] = *rc::gen::inRange<std::uint64_t>(0, 60);
    task.bytes.keys = task.bytes.loading = key_bytes[task.group];
    task.bytes.queries = *rc::gen::inRange<std::uint64_t>(0, 80);
  }
  const QueueOptions options = with_memory(*rc::gen::inRange(1, 9), *rc::gen::inRange<std::uint64_t>(140, 300));
  Ledger ledger(tasks);
  run(tasks, options, ledger, std::chrono::microseconds(*rc::gen::inRange(0, 50)));
  expect_each_task_once(ledger, tasks.size());
  RC_ASSERT(!testing::Test::HasFailure());
  RC_ASSERT(ledger.most_bytes_together() <= options.memory->limit);
  for (const auto& [group, loads] : ledger.loads()) RC_ASSERT(loads == 1);
}

}  // namespace
}  // namespace attention_plasticity

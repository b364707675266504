// Tasks of the queue whose files arrive while others are worked on.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "attention_plasticity/error.h"
#include "attention_plasticity/measure/head_queue_testing.h"

namespace attention_plasticity {
namespace {

using namespace std::chrono_literals;

TEST(HeadQueueFiles, StartsATaskOnceItsFilesAreThere) {
  const std::vector<TestTask> tasks = tasks_of_groups({2, 2});
  std::mutex mutex;
  std::vector<std::string> story;
  const auto tell = [&](const std::string& what, std::size_t head) {
    const std::scoped_lock lock(mutex);
    story.push_back(fmt::format("{} {}", what, head));
  };
  QueueOptions options = with_workers(3);
  options.arrive = [&](std::size_t task) {
    std::this_thread::sleep_for(1ms);
    tell("arrived", task);
    return TaskBytes{};
  };
  for_each_task(tasks, options, keys_of(tasks),
                [&](std::size_t task, const TestKeys*, const std::exception_ptr&) { tell("begun", task); }, {});
  for (int head = 0; head < 4; ++head) {
    const auto arrived = std::ranges::find(story, fmt::format("arrived {}", head));
    const auto begun = std::ranges::find(story, fmt::format("begun {}", head));
    ASSERT_NE(begun, story.end());
    EXPECT_LT(arrived, begun);
  }
}

TEST(HeadQueueFiles, WorksWhileOtherFilesAreOnTheirWay) {
  const std::vector<TestTask> tasks = tasks_of_groups({1, 1});
  std::promise<void> first_done;
  QueueOptions options = with_workers(2);
  options.arrive = [&](std::size_t task) {
    if (task == 1) first_done.get_future().wait();
    return TaskBytes{};
  };
  std::size_t done = 0;
  for_each_task(tasks, options, keys_of(tasks),
                [&](std::size_t task, const TestKeys*, const std::exception_ptr&) {
                  if (task == 0) first_done.set_value();
                  ++done;
                },
                {});
  EXPECT_EQ(done, 2U);
}

TEST(HeadQueueFiles, EndsWhenFilesDoNotArrive) {
  const std::vector<TestTask> tasks = tasks_of_groups({2, 2, 2});
  for (const int workers : {1, 3}) {
    std::atomic<std::size_t> done = 0;
    QueueOptions options = with_workers(workers);
    options.arrive = [&](std::size_t task) {
      if (task == 3) throw Error(ErrorKind::network, "lost");
      return TaskBytes{};
    };
    try {
      for_each_task(tasks, options, keys_of(tasks),
                    [&](std::size_t, const TestKeys*, const std::exception_ptr&) { ++done; }, {});
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()), "lost");
    }
    EXPECT_EQ(done, 3U) << "those begun are finished";
  }
}

TEST(HeadQueueFiles, DoesNotAskAgainForFilesThatDidNotArrive) {
  const std::vector<TestTask> tasks = tasks_of_groups({2, 2, 2});
  std::atomic<int> asked = 0;
  QueueOptions options = with_workers(3);
  options.arrive = [&](std::size_t task) {
    if (task == 3 && ++asked == 1) throw Error(ErrorKind::network, "lost");
    return TaskBytes{};
  };
  EXPECT_THROW(
      for_each_task(tasks, options, keys_of(tasks), [](std::size_t, const TestKeys*, const std::exception_ptr&) {}, {}),
      Error);
  EXPECT_EQ(asked, 1);
}

TEST(HeadQueueFiles, WaitsForNoFilesAfterAStopRequest) {
  const std::vector<TestTask> tasks = tasks_of_groups({2});
  std::stop_source stop;
  stop.request_stop();
  QueueOptions options = with_workers(2);
  options.arrive = [](std::size_t task) {
    ADD_FAILURE() << task;
    return TaskBytes{};
  };
  for_each_task(
      tasks, options, keys_of(tasks), [](std::size_t, const TestKeys*, const std::exception_ptr&) {}, stop.get_token());
}

TEST(HeadQueueFiles, CountsTheMemoryOfWhatHasArrived) {
  const std::vector<TestTask> tasks = tasks_of_groups({1, 1, 1, 1});
  std::atomic<int> at_once = 0;
  std::atomic<int> most = 0;
  QueueOptions options = with_memory(4, 250);
  options.arrive = [](std::size_t) { return TaskBytes{60, 40, 40}; };
  for_each_task(tasks, options, keys_of(tasks),
                [&](std::size_t, const TestKeys*, const std::exception_ptr&) {
                  const int now = ++at_once;
                  for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
                  }
                  std::this_thread::sleep_for(5ms);
                  --at_once;
                },
                {});
  EXPECT_LE(most, 2);
}

}  // namespace
}  // namespace attention_plasticity

// Tasks that hold memory: which fit, and what is held together, for any number of workers.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "attention_plasticity/base/memory_account.h"
#include "attention_plasticity/run/head_queue.h"

namespace attention_plasticity {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

// What a head takes, in MiB.
struct Need {
  std::size_t group = 0;
  std::uint64_t estimate = 1;
  std::uint64_t work = 1;
  std::uint64_t result = 0;
  std::uint64_t keys = 1;  // of the group
};

// Counts what all heads hold, beside their accounts.
class Held {
 public:
  void add(std::uint64_t bytes) {
    const std::uint64_t now = held_ += bytes;
    std::uint64_t most = most_;
    while (now > most && !most_.compare_exchange_weak(most, now)) {
    }
  }
  void remove(std::uint64_t bytes) { held_ -= bytes; }
  std::uint64_t most() const { return most_; }

 private:
  std::atomic<std::uint64_t> held_ = 0;
  std::atomic<std::uint64_t> most_ = 0;
};

struct Ran {
  std::map<std::size_t, std::string> failures;
  std::size_t delivered = 0;
  std::uint64_t most_held = 0;
};

Ran run(const std::vector<Need>& needs, int workers, std::uint64_t limit) {
  std::vector<HeadTask> tasks;
  for (std::size_t i = 0; i < needs.size(); ++i) {
    HeadTask task;
    task.head = {0, static_cast<int>(i), static_cast<int>(needs[i].group)};
    task.query_bytes = needs[i].estimate * mib;
    task.key_bytes = needs[i].estimate * mib;
    tasks.push_back(task);
  }
  Held held;
  Ran ran;
  std::mutex mutex;
  const auto load = [&](const HeadTask& task) {
    const std::uint64_t bytes = needs[static_cast<std::size_t>(task.head.q_head)].keys * mib;
    const MemoryCharge decoding(bytes);
    HeadRows rows;
    rows.bucket.resize(bytes / 2 / sizeof(std::int64_t));  // what stays of the keys
    return LoadedKeys{{KeptRows(std::move(rows)), {}}, {}};
  };
  const auto work = [&](std::size_t task, const LoadedKeys* keys, const std::exception_ptr& failure) -> FinishedTask {
    if (failure) {
      std::string why;
      try {
        std::rethrow_exception(failure);
      } catch (const OverMemoryLimit& over) {
        why = fmt::format("{} > {}", over.needed(), over.limit());
      }
      const auto deliver = [&ran, &mutex, task, why] {
        const std::scoped_lock lock(mutex);
        EXPECT_TRUE(ran.failures.emplace(task, why).second);
        ++ran.delivered;
      };
      return {deliver, 0, true};
    }
    EXPECT_NE(keys, nullptr);
    const std::uint64_t bytes = needs[task].work * mib;
    for (std::uint64_t step = 0; step < 4; ++step) std::this_thread::yield();
    const MemoryCharge charge(bytes);
    held.add(bytes);
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    held.remove(bytes);
    const std::uint64_t result = needs[task].result * mib;
    const auto deliver = [&ran, &mutex, &held, result] {
      held.add(result);
      const std::scoped_lock lock(mutex);
      ++ran.delivered;
    };
    return {deliver, result, false};
  };
  for_each_head(tasks, {.workers = workers, .memory_limit = limit}, load, work, {});
  EXPECT_EQ(MemoryAccount::current(), nullptr);
  ran.most_held = held.most();
  return ran;
}

std::vector<std::size_t> failed(const Ran& ran) {
  std::vector<std::size_t> tasks;
  for (const auto& [task, why] : ran.failures) tasks.push_back(task);
  return tasks;
}

TEST(HeadQueueMemory, ATaskThatNeedsMoreThanItsEstimateIsTriedAgainAlone) {
  // Together the heads need far more than there is, each alone fits.
  std::vector<Need> needs;
  for (std::size_t i = 0; i < 12; ++i) needs.push_back({.group = i / 3, .estimate = 1, .work = 60, .keys = 8});
  for (const int workers : {1, 2, 8}) {
    const Ran ran = run(needs, workers, 100 * mib);
    EXPECT_EQ(failed(ran), std::vector<std::size_t>()) << workers;
    EXPECT_EQ(ran.delivered, needs.size());
    EXPECT_LE(ran.most_held, 100 * mib);
  }
}

TEST(HeadQueueMemory, ATaskThatDoesNotFitAloneFailsByItself) {
  std::vector<Need> needs;
  for (std::size_t i = 0; i < 9; ++i) needs.push_back({.group = i / 3, .work = i == 4 ? 100U : 10U, .keys = 2});
  for (const int workers : {1, 2, 8}) {
    const Ran ran = run(needs, workers, 100 * mib);
    EXPECT_EQ(failed(ran), std::vector<std::size_t>{4}) << workers;
    EXPECT_EQ(ran.delivered, needs.size());
    // 100 of its own, 1 of its keys, an eighth of the limit set aside.
    EXPECT_EQ(ran.failures.at(4), fmt::format("{} > {}", 101 * mib + 100 * mib / 8, 100 * mib));
  }
}

TEST(HeadQueueMemory, KeysThatDoNotFitFailTheHeadsThatReadThem) {
  std::vector<Need> needs;
  for (std::size_t i = 0; i < 9; ++i) needs.push_back({.group = i / 3, .work = 5, .keys = i / 3 == 1 ? 80U : 2U});
  for (const int workers : {1, 2, 8}) {
    EXPECT_EQ(failed(run(needs, workers, 100 * mib)), (std::vector<std::size_t>{3, 4, 5})) << workers;
  }
}

TEST(HeadQueueMemory, ResultsThatLeaveNoRoomFailTheHeadsThatComeAfter) {
  std::vector<Need> needs;
  for (std::size_t i = 0; i < 8; ++i) needs.push_back({.group = i, .work = 30, .result = 15, .keys = 2});
  for (const int workers : {1, 2, 8}) {
    const Ran ran = run(needs, workers, 100 * mib);
    EXPECT_EQ(failed(ran), (std::vector<std::size_t>{3, 4, 5, 6, 7})) << workers;
    EXPECT_LE(ran.most_held, 100 * mib);
  }
}

TEST(HeadQueueMemory, WhichHeadsFailDoesNotDependOnTheNumberOfWorkers) {
  std::mt19937 random(7);
  const auto up_to = [&](std::uint64_t most) { return std::uniform_int_distribution<std::uint64_t>(0, most)(random); };
  std::size_t failures = 0;
  for (int round = 0; round < 60; ++round) {
    std::vector<Need> needs;
    std::vector<std::uint64_t> keys;
    for (std::size_t i = 0; i < 12; ++i) {
      if (i % 3 == 0) keys.push_back(up_to(5) == 0 ? up_to(100) : up_to(10));
      const bool is_large = up_to(3) == 0;
      needs.push_back({i / 3, up_to(20), is_large ? up_to(110) : up_to(30), is_large ? up_to(20) : 0, keys.back()});
    }
    const Ran alone = run(needs, 1, 100 * mib);
    failures += alone.failures.size();
    for (const int workers : {2, 4, 12}) {
      const Ran together = run(needs, workers, 100 * mib);
      EXPECT_EQ(together.failures, alone.failures) << "round " << round << ", " << workers << " workers";
      EXPECT_EQ(together.delivered, needs.size());
      EXPECT_LE(together.most_held, 100 * mib);
    }
  }
  EXPECT_GT(failures, 60U);
}

TEST(HeadQueueMemory, CountsWhatWasHeldBefore) {
  const std::vector<HeadTask> tasks(1);
  std::string why;
  for_each_head(
      tasks, {.workers = 2, .memory_limit = 100 * mib, .held_bytes = 90 * mib},
      [](const HeadTask&) { return LoadedKeys{{KeptRows(HeadRows()), {}}, {}}; },
      [&](std::size_t, const LoadedKeys*, const std::exception_ptr& failure) {
        if (failure) {
          why = "failed";
        } else {
          const MemoryCharge charge(10 * mib);
        }
        return FinishedTask{};
      },
      {});
  EXPECT_EQ(why, "failed");
}

TEST(HeadQueueMemory, WithoutALimitNothingIsCounted) {
  const std::vector<HeadTask> tasks(3);
  for_each_head(
      tasks, {.workers = 2},
      [](const HeadTask&) {
        EXPECT_EQ(MemoryAccount::current(), nullptr);
        return LoadedKeys{{KeptRows(HeadRows()), {}}, {}};
      },
      [&](std::size_t, const LoadedKeys*, const std::exception_ptr&) {
        EXPECT_EQ(MemoryAccount::current(), nullptr);
        return FinishedTask{};
      },
      {});
}

}  // namespace
}  // namespace attention_plasticity

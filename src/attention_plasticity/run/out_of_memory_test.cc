// A program that really has no memory left: every allocation in turn fails, or all from one on. No run may end in
// std::terminate, and no file may be called damaged for it.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>
#include <set>
#include <string>

#include "attention_plasticity/memory.h"
#include "attention_plasticity/results/schema.h"
#include "attention_plasticity/run/results.h"
#include "attention_plasticity/run/small_dump_testing.h"

namespace {

std::atomic<bool> is_counting = false;
std::atomic<std::size_t> allocations = 0;
std::atomic<std::size_t> first_to_fail = std::numeric_limits<std::size_t>::max();
std::atomic<std::size_t> last_to_fail = 0;

void count_allocation() {
  if (!is_counting) return;
  const std::size_t number = ++allocations;
  if (number >= first_to_fail && number <= last_to_fail) throw std::bad_alloc();
}

void* allocated(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) {
  count_allocation();
  return allocated(std::malloc(bytes == 0 ? 1 : bytes));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  count_allocation();
  const auto step = static_cast<std::size_t>(alignment);
  return allocated(std::aligned_alloc(step, (bytes + step - 1) / step * step));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace attention_plasticity {
namespace {

// What became of a run in which the allocations from `first` to `last` fail.
struct Ended {
  std::string how;  // "done", "heads failed", "ended"
  std::set<std::string> messages;
  std::size_t allocations = 0;
};

// Without run.json: the destructor of its JSON takes memory, and may not throw.
void write_tables(const RunConfig& config, const RunResult& run) {
  const WrittenColumns parts = written_columns(run.results, config);
  std::size_t bytes = 0;
  for (const ResultTable& table : result_tables()) {
    write_table(table.id, run.results, parts, run.without_group,
                [&](std::string_view piece) { bytes += piece.size(); });
  }
}

Ended run_with(const RunConfig& config, int workers, std::size_t first, std::size_t last) {
  Ended ended;
  const PreparedRun prepared = prepare_run(config);
  RunObserver observer;
  observer.head_ended = [](const HeadEvent&) { const std::string told(100, 'x'); };
  std::optional<RunResult> run;
  allocations = 0;
  first_to_fail = first;
  last_to_fail = last;
  is_counting = true;
  try {
    run.emplace(run_prepared(prepared, config, {.workers = workers}, observer));
    if (!run->interrupted) write_tables(config, *run);
    is_counting = false;
    ended.how = run->interrupted ? "ended" : run->failures.empty() ? "done" : "heads failed";
  } catch (const std::bad_alloc&) {
    is_counting = false;
    ended.how = "ended";
  } catch (const Error& error) {
    is_counting = false;
    ended.how = "ended";
    ended.messages.insert(error.what());
  }
  ended.allocations = allocations;
  if (run) {
    for (const HeadFailure& failure : run->failures) ended.messages.insert(failure.message);
  }
  return ended;
}

class OutOfMemory : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Workers, OutOfMemory, testing::Values(1, 3));

TEST_P(OutOfMemory, AtAnyAllocationCostsAHeadOrEndsTheRunWithAnError) {
  const SmallDump dump(1, 4, 2);
  const RunConfig config = dump.config(
      {{"--num_triples", "60"}, {"--rope", "none"}, {"--overwrite", "true"}, {"--num_pairs_per_bucket", "8"}});
  const Ended free = run_with(config, GetParam(), std::numeric_limits<std::size_t>::max(), 0);
  ASSERT_EQ(free.how, "done");
  std::set<std::string> ends;
  constexpr std::size_t places = 400;
  for (std::size_t i = 0; i < places; ++i) {
    const std::size_t first = 1 + i * free.allocations / places;
    const bool for_good = i % 4 == 3;
    const Ended ended = run_with(config, GetParam(), first, for_good ? std::numeric_limits<std::size_t>::max() : first);
    ends.insert(ended.how);
    for (const std::string& message : ended.messages) {
      EXPECT_EQ(message.find("damaged"), std::string::npos) << message << " at allocation " << first;
    }
  }
  EXPECT_EQ(ends, (std::set<std::string>{"done", "ended", "heads failed"}));
  release_kept_memory();
}

}  // namespace
}  // namespace attention_plasticity

#include "attention_plasticity/run/worker.h"

#include <gtest/gtest.h>

#include <fstream>

#include "attention_plasticity/base/refusal_testing.h"
#include "attention_plasticity/base/text_testing.h"
#include "attention_plasticity/outcomes/outcome_bytes.h"
#include "attention_plasticity/outcomes/run_manifest.h"
#include "attention_plasticity/run/analysis_run.h"
#include "attention_plasticity/run/dump_run.h"
#include "attention_plasticity/run/engine.h"
#include "attention_plasticity/run/small_dump_testing.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

// An engine without other processes: groups in reverse order, each by a worker that knows the manifest alone.
void measure_here(const EngineWork& work, const EngineReceiver& receiver, const std::stop_token&) {
  for (std::size_t group = work.groups.size(); group-- > 0;) {
    receiver.measured(group, HeadWorker(work.manifest).measure(work.groups[group].heads).bytes());
  }
}

std::string outcome_texts(const RunResult& run) {
  std::string all;
  for (std::size_t i = 0; i < run.results.size(); ++i) {
    all += outcome_bytes({
        .head = run.results[i].head,
        .measured = MeasuredHead{run.results[i], run.without_group[i]},
        .failure = {},
        .queries = {},
        .keys = {},
    });
  }
  return all;
}

class HeadWorkerTest : public ::testing::Test {
 protected:
  RunResult by(const Engine& engine) {
    DumpRun run(dump_.config(), {}, {});
    return run.measure(1, observer_, {}, {}, engine);
  }
  std::string manifest() const {
    PreparedRun prepared = prepare_run(dump_.config());
    decide(prepared, dump_.config(), serialized({}), {});
    return manifest_text(prepared, dump_.config());
  }

  SmallDump dump_{2, 4, 2};
  std::vector<std::string> warnings_;
  RunObserver observer_{{}, {}, [this](const std::string& line) { warnings_.push_back(line); }, {}};
};

TEST_F(HeadWorkerTest, HeadsMeasuredElsewhereAreThoseOfOneRun) {
  DumpRun plain(dump_.config(), {}, {});
  const RunResult one = plain.measure(1, {}, {});
  const RunResult spread = by(measure_here);
  ASSERT_FALSE(one.results.empty());
  EXPECT_EQ(outcome_texts(spread), outcome_texts(one));
  EXPECT_EQ(spread.inputs.size(), one.inputs.size());
  EXPECT_FALSE(spread.interrupted);
}

TEST_F(HeadWorkerTest, GroupsShareAKeyHead) {
  const PreparedRun prepared = prepare_run(dump_.config());
  std::size_t heads = 0;
  for (const KvGroup& group : kv_groups(prepared.tasks)) {
    heads += group.heads.size();
    EXPECT_GT(group.bytes, 0U);
    for (const HeadId& head : group.heads) {
      EXPECT_EQ(head.layer, group.heads.front().layer);
      EXPECT_EQ(head.k_head, group.heads.front().k_head);
    }
  }
  EXPECT_EQ(heads, prepared.tasks.size());
}

class StoredWorkerTest : public ::testing::Test {
 protected:
  RunConfig config() const { return dump_.config({{"--dataset_local_root", "file://" + dump_.root().string()}}); }
  RunResult by(const Engine& engine) {
    DumpRun run(config(), {}, {});
    return run.measure(1, observer_, {}, {}, engine);
  }

  SmallDump dump_{2, 4, 2};
  std::vector<std::string> warnings_;
  RunObserver observer_{{}, {}, [this](const std::string& line) { warnings_.push_back(line); }, {}};
};

TEST_F(StoredWorkerTest, HeadsOfADumpInAStoreAreThoseOfOneRun) {
  DumpRun plain(config(), {}, {});
  const RunResult one = plain.measure(1, {}, {});
  const RunResult spread = by(measure_here);
  ASSERT_EQ(one.results.size(), 8U);
  EXPECT_EQ(outcome_texts(spread), outcome_texts(one));
}

TEST_F(StoredWorkerTest, GroupsDeclareTheirMemory) {
  for (const KvGroup& group : kv_groups(prepare_run(config()).tasks)) EXPECT_GT(group.bytes, 0U);
}

TEST_F(StoredWorkerTest, AFileThatIsReplacedBeforeAWorkerListsTheStoreIsNoticed) {
  const fs::path file = dump_.file(Side::query, 1, 2);
  const RunResult run = by([&](const EngineWork& work, const EngineReceiver& receiver, const std::stop_token& stop) {
    // Another file of the same size.
    const std::string content = read_text(file);
    fs::remove(file);
    write_text(file, content);
    fs::last_write_time(file, fs::file_time_type::clock::now() + std::chrono::seconds(60));
    measure_here(work, receiver, stop);
  });
  ASSERT_EQ(run.failures.size(), 1U);
  EXPECT_EQ(run.failures[0].head, (HeadId{1, 2, 1}));
  EXPECT_TRUE(run.failures[0].message.starts_with("the file was replaced or changed after the run began"))
      << run.failures[0].message;
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(HeadWorkerTest, AGroupThatIsGivenUpFailsItsHeads) {
  const RunResult run = by([](const EngineWork& work, const EngineReceiver& receiver, const std::stop_token& stop) {
    receiver.failed(0, "its node died");
    EngineWork rest = work;
    rest.groups.erase(rest.groups.begin());
    measure_here(rest,
                 {[&](std::size_t group, std::string_view bytes) { receiver.measured(group + 1, bytes); }, {}, {}, {}},
                 stop);
  });
  const std::vector<KvGroup> groups = kv_groups(prepare_run(dump_.config()).tasks);
  ASSERT_EQ(run.failures.size(), groups.front().heads.size());
  EXPECT_EQ(run.failures.front().message, "its node died");
  EXPECT_FALSE(run.interrupted);
}

TEST_F(HeadWorkerTest, AnEngineThatEndsEarlyLeavesTheRunInterrupted) {
  const RunResult run = by([](const EngineWork& work, const EngineReceiver& receiver, const std::stop_token&) {
    receiver.measured(0, HeadWorker(work.manifest).measure(work.groups[0].heads).bytes());
  });
  EXPECT_TRUE(run.interrupted);
  EXPECT_EQ(refusal([&] { std::rethrow_exception(run.failure); }).substr(7), "the engine ended before all heads did");
}

TEST_F(HeadWorkerTest, OtherHeadsAndOtherBytesAreRefused) {
  const RunResult swapped = by([](const EngineWork& work, const EngineReceiver& receiver, const std::stop_token&) {
    receiver.measured(0, HeadWorker(work.manifest).measure(work.groups[1].heads).bytes());
  });
  EXPECT_EQ(refusal([&] { std::rethrow_exception(swapped.failure); }),
            "input: a worker returned other heads than it was asked for");
  const RunResult damaged = by([](const EngineWork&, const EngineReceiver& receiver, const std::stop_token&) {
    receiver.measured(0, "nothing");
  });
  EXPECT_EQ(refusal([&] { std::rethrow_exception(damaged.failure); }), "input: does not hold the outcomes of a worker");
}

TEST(MeasuredGroup, HasWholeNumbersOfBytes) {
  std::string bytes = MeasuredGroup{{}, "avx2", false, 0, 4096}.bytes();
  EXPECT_EQ(MeasuredGroup::of_bytes(bytes).peak_rss_bytes, 4096U);
  bytes.replace(bytes.find("4096"), 4, "1e300");
  EXPECT_EQ(refusal([&] { MeasuredGroup::of_bytes(bytes); }), "input: does not hold the outcomes of a worker");
}

TEST_F(HeadWorkerTest, AnotherVersionIsRefused) {
  std::string other = manifest();
  const std::string key = "\"version\": \"";
  other.insert(other.find(key) + key.size(), "9");
  expect_parts(refusal([&] { HeadWorker worker(other); }),
               {"usage: the run was prepared by another version than is installed here: the program's version was 9",
                "install the same one on all machines"});
}

TEST_F(HeadWorkerTest, AMachineThatDoesNotSeeTheDumpSaysSo) {
  const PreparedRun prepared = prepare_run(dump_.config());
  HeadWorker worker(manifest());
  const fs::path file = dump_.file(Side::query, 0, 0);
  const std::vector<HeadId> heads{prepared.tasks[0].head};
  std::ofstream(file, std::ios::app) << "more";
  expect_parts(refusal([&] { worker.measure(heads); }), {"bytes here, and had ", "where the run was prepared"});
  fs::remove(file);
  expect_parts(
      refusal([&] { worker.measure(heads); }),
      {"input: ", file.filename().string(), "this machine does not see the dump; put it where all machines have it"});
}

TEST_F(HeadWorkerTest, CopiesWithOtherTimesAreTakenWithAWarning) {
  const PreparedRun prepared = prepare_run(dump_.config());
  by([&](const EngineWork& work, const EngineReceiver& receiver, const std::stop_token& stop) {
    fs::last_write_time(dump_.file(Side::query, 0, 0), fs::file_time_type::clock::now());
    measure_here(work, receiver, stop);
  });
  EXPECT_EQ(std::ranges::count_if(warnings_,
                                  [](const std::string& line) {
                                    return line.find("other modification times on other machines") != std::string::npos;
                                  }),
            1);
}

}  // namespace
}  // namespace attention_plasticity

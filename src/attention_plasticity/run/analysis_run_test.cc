#include "attention_plasticity/run/analysis_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/analyze_head.h"
#include "attention_plasticity/dump/head_file.h"
#include "attention_plasticity/run/results.h"
#include "attention_plasticity/run/small_dump_testing.h"

namespace attention_plasticity {
namespace {

std::vector<std::string> tables_of(const RunResult& run, const RunConfig& config) {
  return {table_text(TableId::metrics, run.results, config), table_text(TableId::buckets, run.results, config),
          table_text(TableId::components, run.results, config), table_text(TableId::time, run.results, config),
          table_text(TableId::distance, run.results, config)};
}

// The first fields of each row, which are whole numbers.
std::vector<std::vector<int>> keys_of_rows(std::string_view table, std::size_t fields) {
  std::vector<std::vector<int>> rows;
  for (std::size_t at = table.find('\n') + 1; at < table.size(); at = table.find('\n', at) + 1) {
    std::vector<int>& row = rows.emplace_back();
    const char* text = table.data() + at;
    while (row.size() < fields) text = std::from_chars(text, table.data() + table.size(), row.emplace_back()).ptr + 1;
  }
  return rows;
}

TEST(AnalysisRun, AFileThatChangesAfterTheRunIsPreparedFailsTheHeadsThatReadIt) {
  const SmallDump dump(2, 4, 2);
  const RunConfig config = dump.config();
  const PreparedRun prepared = prepare_run(config);
  // Sound files with other rows: without a comparison they would be measured.
  dump.write(Side::query, 0, 1, small_rows(77));
  dump.write(Side::key, 1, 1, small_rows(78));
  const RunResult run = run_prepared(prepared, config, {.workers = 2}, {});
  ASSERT_EQ(heads_of(run.failures), (std::vector<HeadId>{{0, 1, 0}, {1, 2, 1}, {1, 3, 1}}));
  for (const HeadFailure& failure : run.failures) {
    EXPECT_EQ(failure.message,
              "the file was replaced or changed after the run began; run again when nothing writes to the dump");
  }
  EXPECT_EQ(run.failures[0].file, dump.file(Side::query, 0, 1).string());
  EXPECT_EQ(run.failures[1].file, dump.file(Side::key, 1, 1).string());
  EXPECT_EQ(run.results.size(), 5U);
}

// Files that are fetched by their readers, one of which goes away after its footer was read.
class FailingFiles : public DumpFiles {
 public:
  explicit FailingFiles(std::filesystem::path failing) : failing_(std::move(failing)) {}

  std::shared_ptr<const InputFile> open(const std::filesystem::path& file) const override {
    if (file == failing_ && opened_++ > 0) throw Error(ErrorKind::network, "the store does not answer", file.string());
    return disk_files().open(file);
  }
  bool exists(const std::filesystem::path& file) const override { return disk_files().exists(file); }
  std::string text(const std::filesystem::path& file) const override { return disk_files().text(file); }
  bool are_remote() const override { return true; }

 private:
  std::filesystem::path failing_;
  mutable std::atomic<int> opened_ = 0;
};

TEST(AnalysisRun, AStoreThatFailsItsReaderEndsTheRun) {
  const SmallDump dump(1, 4, 2);
  const RunConfig config = dump.config();
  for (const Side side : {Side::query, Side::key}) {
    PreparedRun prepared = prepare_run(config);
    prepared.layout.store = std::make_shared<FailingFiles>(dump.file(side, 0, 1));
    prepared.source = std::make_shared<FileSource>(prepared.layout, config);
    prepared.reference_documents = {{0, 5}};  // as decided while the store answered
    const RunResult run = run_prepared(prepared, config, {.workers = 1}, {});
    EXPECT_TRUE(run.interrupted);
    EXPECT_TRUE(run.failures.empty());
    try {
      if (run.failure) std::rethrow_exception(run.failure);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::network);
    }
  }
}

TEST(AnalysisRun, AVectorWiderThanConfiguredFailsItsHead) {
  const SmallDump dump(1, 2, 1);
  const RunResult run = run_of(dump.config({{"--max_vector_width", "3"}}), 2);
  ASSERT_EQ(run.failures.size(), 2U);
  EXPECT_TRUE(contains(run.failures[0].message, "the vectors have 4 components, and at most 3 are read"))
      << run.failures[0].message;
}

TEST(AnalysisRun, MeasuresEveryHeadAsTheAnalysisOfItsFilesDoes) {
  const SmallDump dump(2, 4, 2);
  const RunConfig config = dump.config();
  const RunResult run = run_of(config, 2);
  ASSERT_EQ(run.results.size(), 8U);
  EXPECT_TRUE(run.failures.empty());
  EXPECT_FALSE(run.interrupted);
  std::vector<HeadResult> direct;
  for (const HeadResult& result : run.results) {
    const HeadId head = result.head;
    direct.push_back(
        analyze_head(head, read_head_file(dump.file(Side::query, head.layer, head.q_head), Side::query).rows,
                     read_head_file(dump.file(Side::key, head.layer, head.k_head), Side::key).rows, config.analysis));
    EXPECT_FALSE(std::isnan(result.plasticity.overall));
    EXPECT_GT(result.plasticity_error, 0);
  }
  EXPECT_EQ(table_text(TableId::metrics, run.results, config), table_text(TableId::metrics, direct, config));
  EXPECT_EQ(table_text(TableId::buckets, run.results, config), table_text(TableId::buckets, direct, config));
}

TEST(AnalysisRun, GivesTheSameBytesForAnyNumberOfWorkers) {
  const SmallDump dump(3, 4, 2);
  dump.write(Side::query, 1, 2, small_rows(100, {3, 4, 5, 6, 7}));
  write_text(dump.file(Side::query, 2, 1), "not parquet");
  const RunConfig config =
      dump.config({{"--memory_limit", "20MB"}, {"--num_triples", "300"}, {"--rope_theta", "10000"}});
  const RunResult one = run_of(config, 1);
  ASSERT_EQ(one.results.size(), 11U);
  ASSERT_EQ(one.model_without_group.overall.size(), 6U);
  ASSERT_EQ(one.model_without_group.exact.size(), 6U);
  for (const int workers : {2, 7}) {
    const RunResult more = run_of(config, workers);
    EXPECT_EQ(tables_of(more, config), tables_of(one, config)) << workers << " workers";
    EXPECT_EQ(more.model_without_group.overall, one.model_without_group.overall) << workers << " workers";
    EXPECT_EQ(more.model_without_group.exact, one.model_without_group.exact) << workers << " workers";
    EXPECT_EQ(heads_of(more.failures), heads_of(one.failures)) << workers << " workers";
  }
}

TEST(AnalysisRun, FailsTheSameHeadsForLackOfMemoryForAnyNumberOfWorkers) {
  const SmallDump dump(3, 4, 2);
  // A head with 128 times the rows of the others.
  HeadRows large = small_rows(100);
  for (int i = 0; i < 7; ++i) {
    const HeadRows once = large;
    large.bucket.insert(large.bucket.end(), once.bucket.begin(), once.bucket.end());
    large.example.insert(large.example.end(), once.example.begin(), once.example.end());
    large.position.insert(large.position.end(), once.position.begin(), once.position.end());
    large.vectors.insert(large.vectors.end(), once.vectors.begin(), once.vectors.end());
  }
  dump.write(Side::query, 1, 2, large);
  const RunConfig unlimited = dump.config();
  const std::vector<std::string> tables = tables_of(run_of(unlimited, 1), unlimited);
  std::set<std::size_t> numbers;  // of failures
  for (std::uint64_t limit = std::uint64_t{2} << 20U; limit <= std::uint64_t{32} << 20U; limit += limit / 8) {
    RunConfig config = unlimited;
    config.memory_limit = limit;
    const RunResult one = run_of(config, 1);
    numbers.insert(one.failures.size());
    if (one.failures.empty()) {
      EXPECT_EQ(tables_of(one, config), tables) << limit;
    }
    for (const int workers : {2, 7}) {
      const RunResult more = run_of(config, workers);
      EXPECT_EQ(heads_of(more.failures), heads_of(one.failures)) << workers << " workers, " << limit << " bytes";
      EXPECT_EQ(tables_of(more, config), tables_of(one, config)) << workers << " workers, " << limit << " bytes";
    }
    for (const HeadFailure& failure : one.failures) {
      EXPECT_NE(failure.message.find("`memory_limit` is"), std::string::npos) << failure.message;
    }
  }
  EXPECT_TRUE(numbers.contains(0)) << "the last limits are enough";
  EXPECT_TRUE(numbers.contains(1)) << "some limit is enough for all heads but the large one";
  EXPECT_TRUE(numbers.contains(12)) << "the first limit is enough for none";
}

TEST(AnalysisRun, SortsTheRowsOfEveryTable) {
  const SmallDump dump(3, 4, 2);
  const RunConfig config = dump.config({{"--num_triples", "50"}, {"--rope", "none"}});
  const std::vector<std::string> tables = tables_of(run_of(config, 7), config);
  const std::vector<std::size_t> key_fields{3, 5, 4, 4, 5};
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const auto rows = keys_of_rows(tables[i], key_fields[i]);
    EXPECT_GE(rows.size(), 12U);
    // Strictly: no row is there twice.
    EXPECT_TRUE(std::ranges::is_sorted(rows, std::less_equal{})) << tables[i];
  }
}

TEST(AnalysisRun, TellsTheObserverOfEachHead) {
  const SmallDump dump(1, 3, 1);
  write_text(dump.file(Side::query, 0, 1), "not parquet");
  Observed observed;
  run_of(dump.config(), 3, observed);
  EXPECT_EQ(observed.ended, (std::vector<std::pair<std::size_t, std::size_t>>{{1, 3}, {2, 3}, {3, 3}}));
}

TEST(AnalysisRun, HandsTheObserverTheResultOrTheFailure) {
  const SmallDump dump(1, 2, 1);
  write_text(dump.file(Side::query, 0, 1), "not parquet");
  const RunConfig config = dump.config();
  int seen = 0;
  const RunObserver observer{[&](const HeadEvent& event) {
                               ++seen;
                               EXPECT_EQ(event.failure != nullptr, event.head.q_head == 1);
                               EXPECT_EQ(event.result != nullptr, event.head.q_head == 0);
                               if (event.failure != nullptr) {
                                 EXPECT_EQ(event.failure->head, event.head);
                               }
                               if (event.result != nullptr) {
                                 EXPECT_EQ(event.result->head, event.head);
                               }
                             },
                             [](const std::string&) {}};
  run_prepared(prepare_run(config), config, {.workers = 1}, observer);
  EXPECT_EQ(seen, 2);
}

TEST(StoppedRun, KeepsTheHeadsThatHadEnded) {
  const SmallDump dump(2, 4, 2);
  write_text(dump.file(Side::query, 0, 1), "not parquet");
  const RunConfig config = dump.config();
  std::stop_source stop;
  const RunObserver observer{[&](const HeadEvent& event) {
                               if (event.ended == 3) stop.request_stop();
                             },
                             [](const std::string&) {}};
  const RunResult run = run_prepared(prepare_run(config), config, {.workers = 1, .stop = stop.get_token()}, observer);
  EXPECT_TRUE(run.interrupted);
  EXPECT_EQ(heads_of(run.results), (std::vector<HeadId>{{0, 0, 0}, {0, 2, 1}}));
  EXPECT_EQ(heads_of(run.failures), (std::vector<HeadId>{{0, 1, 0}}));
  EXPECT_TRUE(run.model_without_group.overall.empty());
}

TEST(StoppedRun, LosesNoHeadThatAnyWorkerEnded) {
  const SmallDump dump(2, 4, 2);
  const RunConfig config = dump.config();
  std::stop_source stop;
  std::size_t ended = 0;
  const RunObserver observer{[&](const HeadEvent& event) {
                               ended = event.ended;
                               stop.request_stop();
                             },
                             [](const std::string&) {}};
  const RunResult run = run_prepared(prepare_run(config), config, {.workers = 3, .stop = stop.get_token()}, observer);
  EXPECT_EQ(run.results.size(), ended);
  EXPECT_LE(ended, 3U);
  EXPECT_TRUE(run.interrupted);
}

TEST(StoppedRun, IsCompleteWhenTheLastHeadHadEnded) {
  const SmallDump dump(1, 2, 1);
  const RunConfig config = dump.config();
  std::stop_source stop;
  const RunObserver observer{[&](const HeadEvent& event) {
                               if (event.ended == event.total) stop.request_stop();
                             },
                             [](const std::string&) {}};
  const RunResult run = run_prepared(prepare_run(config), config, {.workers = 2, .stop = stop.get_token()}, observer);
  EXPECT_FALSE(run.interrupted);
  EXPECT_EQ(run.results.size(), 2U);
}

}  // namespace
}  // namespace attention_plasticity

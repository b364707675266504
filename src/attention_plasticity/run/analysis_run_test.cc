#include "attention_plasticity/run/analysis_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/analysis/head_analysis.h"
#include "attention_plasticity/analyze_head.h"
#include "attention_plasticity/dump/head_file.h"
#include "attention_plasticity/run/result_tables.h"
#include "attention_plasticity/run/small_dump_testing.h"
#include "attention_plasticity/run/summary.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;
using Examples = std::vector<std::uint64_t>;

std::vector<HeadId> heads_of(const auto& outcomes) {
  std::vector<HeadId> heads;
  heads.reserve(outcomes.size());
  for (const auto& outcome : outcomes) heads.push_back(outcome.head);
  return heads;
}

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

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(AnalysisRun, AFileThatChangesAfterTheRunIsPreparedFailsTheHeadsThatReadIt) {
  const SmallDump dump(2, 4, 2);
  const RunConfig config = dump.config();
  const PreparedRun prepared = prepare_run(config);
  // Sound files with other rows: without a comparison they would be measured.
  dump.write(Side::query, 0, 1, small_rows(77));
  dump.write(Side::key, 1, 1, small_rows(78));
  const RunResult run = run_analysis(prepared, config, {.workers = 2}, {});
  ASSERT_EQ(heads_of(run.failures), (std::vector<HeadId>{{0, 1, 0}, {1, 2, 1}, {1, 3, 1}}));
  for (const HeadFailure& failure : run.failures) {
    EXPECT_EQ(failure.message,
              "the file was replaced or changed after the run began; run again when nothing writes to the dump");
  }
  EXPECT_EQ(run.failures[0].file, dump.file(Side::query, 0, 1).string());
  EXPECT_EQ(run.failures[1].file, dump.file(Side::key, 1, 1).string());
  EXPECT_EQ(run.results.size(), 5U);
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
      dump.config({{"--memory_limit", "1MB"}, {"--num_triples", "300"}, {"--rope_theta", "10000"}});
  const RunResult one = run_of(config, 1);
  ASSERT_EQ(one.results.size(), 11U);
  ASSERT_EQ(one.model_without_group.overall.size(), 8U);
  ASSERT_EQ(one.model_without_group.exact.size(), 8U);
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
  // A head with 16 times the rows of the others.
  HeadRows large = small_rows(100);
  for (int i = 0; i < 4; ++i) {
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
  for (std::uint64_t limit = 16384; limit <= std::uint64_t{1} << 20U; limit += limit / 8) {
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
  run_analysis(prepare_run(config), config, {.workers = 1}, observer);
  EXPECT_EQ(seen, 2);
}

TEST(BrokenHead, FailsAloneWhenItsQueriesAreBroken) {
  const SmallDump dump(1, 4, 2);
  write_text(dump.file(Side::query, 0, 1), "<html>not found</html>");
  const RunResult run = run_of(dump.config(), 2);
  EXPECT_EQ(heads_of(run.results), (std::vector<HeadId>{{0, 0, 0}, {0, 2, 1}, {0, 3, 1}}));
  ASSERT_EQ(heads_of(run.failures), (std::vector<HeadId>{{0, 1, 0}}));
  EXPECT_EQ(run.failures[0].file, dump.file(Side::query, 0, 1).string());
  EXPECT_TRUE(contains(run.failures[0].message, "HTML")) << run.failures[0].message;
  EXPECT_FALSE(run.interrupted);
}

TEST(BrokenHead, FailsWithItsGroupWhenTheirKeysAreBroken) {
  const SmallDump dump(1, 4, 2);
  const fs::path keys = dump.file(Side::key, 0, 1);
  const std::string whole = read_text(keys);
  write_text(keys, whole.substr(0, whole.size() / 2));
  const RunResult run = run_of(dump.config(), 2);
  EXPECT_EQ(heads_of(run.results), (std::vector<HeadId>{{0, 0, 0}, {0, 1, 0}}));
  ASSERT_EQ(heads_of(run.failures), (std::vector<HeadId>{{0, 2, 1}, {0, 3, 1}}));
  for (const HeadFailure& failure : run.failures) {
    EXPECT_EQ(failure.file, keys.string());
    EXPECT_FALSE(failure.message.empty());
  }
}

TEST(BrokenHead, FailsWithItsGroupWhenTheirKeysWereNotCaptured) {
  const SmallDump dump(1, 4, 2);
  dump.remove(Side::key, 0, 0);
  const RunResult run = run_of(dump.config(), 2);
  EXPECT_EQ(heads_of(run.results), (std::vector<HeadId>{{0, 2, 1}, {0, 3, 1}}));
  ASSERT_EQ(heads_of(run.failures), (std::vector<HeadId>{{0, 0, 0}, {0, 1, 0}}));
  EXPECT_EQ(run.failures[0].file, dump.file(Side::key, 0, 0).string());
  EXPECT_TRUE(contains(run.failures[1].message, "key head 0 of layer 0, which this head reads, was not captured"))
      << run.failures[1].message;
}

TEST(BrokenHead, IsNotTakenForOneThatWasNotCapturedWhenItsKeysAreADanglingLink) {
  const SmallDump dump(1, 1, 1);
  dump.remove(Side::key, 0, 0);
  fs::create_symlink("gone", dump.file(Side::key, 0, 0));
  const RunResult run = run_of(dump.config());
  ASSERT_EQ(run.failures.size(), 1U);
  EXPECT_EQ(run.failures[0].file, dump.file(Side::key, 0, 0).string());
  EXPECT_FALSE(contains(run.failures[0].message, "was not captured")) << run.failures[0].message;
}

TEST(BrokenHead, NamesBothWidthsWhenTheyDiffer) {
  const SmallDump dump(1, 2, 1);
  HeadRows narrow = small_rows(1);
  narrow.width = 2;
  narrow.vectors.resize(narrow.size() * 2);
  dump.write(Side::query, 0, 0, narrow);
  const RunResult run = run_of(dump.config());
  ASSERT_EQ(heads_of(run.failures), (std::vector<HeadId>{{0, 0, 0}}));
  EXPECT_TRUE(contains(run.failures[0].message, "q vectors have 2 components, k vectors 4")) << run.failures[0].message;
  EXPECT_EQ(run.failures[0].file, dump.file(Side::query, 0, 0).string());
}

TEST(BrokenHead, NamesItsFileWhenTheModelHasAnotherWidth) {
  const SmallDump dump(1, 4, 2);
  write_text(dump.root() / "config.json", R"({"head_dim": 4})");
  HeadRows narrow = small_rows(1);
  narrow.width = 2;
  narrow.vectors.resize(narrow.size() * 2);
  dump.write(Side::query, 0, 0, narrow);
  dump.write(Side::key, 0, 1, narrow);
  const RunResult run = run_of(dump.config());
  EXPECT_EQ(heads_of(run.results), (std::vector<HeadId>{{0, 1, 0}}));
  ASSERT_EQ(heads_of(run.failures), (std::vector<HeadId>{{0, 0, 0}, {0, 2, 1}, {0, 3, 1}}));
  const std::string message = "the vectors have 2 components, but " + (dump.root() / "config.json").string() +
                              " says that a head of the model has 4";
  for (const HeadFailure& failure : run.failures) EXPECT_EQ(failure.message, message);
  EXPECT_EQ(run.failures[0].file, dump.file(Side::query, 0, 0).string());
  EXPECT_EQ(run.failures[1].file, dump.file(Side::key, 0, 1).string());
}

TEST(BrokenHead, OfAnotherWidthDoesNotMakeTheRotationUnusable) {
  const SmallDump dump(1, 2, 1);
  write_text(dump.root() / "config.json", R"({"model_type": "llama", "head_dim": 4, "rope_theta": 10000})");
  HeadRows narrow = small_rows(1);
  narrow.width = 2;
  narrow.vectors.resize(narrow.size() * 2);
  dump.write(Side::query, 0, 0, narrow);
  const RunResult run = run_of(dump.config({{"--num_triples", "20"}}));
  EXPECT_EQ(heads_of(run.results), (std::vector<HeadId>{{0, 1, 0}}));
  EXPECT_EQ(heads_of(run.failures), (std::vector<HeadId>{{0, 0, 0}}));
}

// Row 5 of the queries of head 0 and rows 0 and 71 of the keys that heads 0 and 1 share.
void write_non_finite_rows(const SmallDump& dump) {
  HeadRows queries = small_rows(1);
  queries.vectors[5 * 4 + 2] = std::numeric_limits<float>::quiet_NaN();
  dump.write(Side::query, 0, 0, queries);
  HeadRows keys = small_rows(3);
  keys.vectors[3] = std::numeric_limits<float>::infinity();
  keys.vectors[71UL * 4] = -std::numeric_limits<float>::infinity();
  dump.write(Side::key, 0, 0, keys);
}

TEST(NonFiniteRows, AreErrorsOfTheirHeads) {
  const SmallDump dump(1, 2, 1);
  HeadRows queries = small_rows(1);
  queries.vectors[5 * 4 + 2] = std::numeric_limits<float>::quiet_NaN();
  dump.write(Side::query, 0, 0, queries);
  const RunResult run = run_of(dump.config());
  EXPECT_EQ(heads_of(run.results), (std::vector<HeadId>{{0, 1, 0}}));
  ASSERT_EQ(heads_of(run.failures), (std::vector<HeadId>{{0, 0, 0}}));
  EXPECT_TRUE(contains(run.failures[0].message, "row 5")) << run.failures[0].message;
}

TEST(NonFiniteRows, AreDroppedCountedAndWarnedOfOnceForEachFile) {
  const SmallDump dump(1, 2, 1);
  write_non_finite_rows(dump);
  Observed observed;
  const RunResult run = run_of(dump.config({{"--non_finite", "drop"}}), 2, observed);
  ASSERT_EQ(run.results.size(), 2U);
  EXPECT_EQ(run.dropped_rows, 3U);
  EXPECT_EQ(run.results[0].n_q_tokens, 71U);
  EXPECT_EQ(run.results[1].n_q_tokens, 72U);
  EXPECT_EQ(run.results[0].n_k_tokens, 70U);
  EXPECT_EQ(
      std::set<std::string>(observed.warnings.begin(), observed.warnings.end()),
      (std::set<std::string>{dump.file(Side::key, 0, 0).string() + ": dropped 2 of 72 rows with NaN or infinity",
                             dump.file(Side::query, 0, 0).string() + ": dropped 1 of 72 rows with NaN or infinity"}));
  EXPECT_EQ(observed.warnings.size(), 2U);
}

HeadRows without_examples(HeadRows rows) {
  rows.example.clear();
  return rows;
}

TEST(MissingExamples, LeavePlasticityEmptyAndAreWarnedOfOnce) {
  const SmallDump dump(1, 2, 2);
  for (int head = 0; head < 2; ++head) {
    dump.write(Side::query, 0, head, without_examples(small_rows(1)));
    dump.write(Side::key, 0, head, without_examples(small_rows(2)));
  }
  Observed observed;
  const RunConfig config = dump.config();
  const RunResult run = run_of(config, 2, observed);
  ASSERT_EQ(run.results.size(), 2U);
  for (const HeadResult& result : run.results) EXPECT_TRUE(std::isnan(result.plasticity.overall));
  ASSERT_EQ(observed.warnings.size(), 1U);
  EXPECT_TRUE(contains(observed.warnings[0], "no key pairs can be formed")) << observed.warnings[0];
  EXPECT_TRUE(run.model_without_group.overall.empty());
  EXPECT_TRUE(table_text(TableId::metrics, run.results, config).ends_with(",,\n"));
}

TEST(MissingExamples, OfQueriesAloneDoNotHinderKeyPairs) {
  const SmallDump dump(1, 2, 1);
  dump.write(Side::query, 0, 0, without_examples(small_rows(1)));
  Observed observed;
  const RunResult run = run_of(dump.config(), 1, observed);
  ASSERT_EQ(run.results.size(), 2U);
  EXPECT_FALSE(std::isnan(run.results[0].plasticity.overall));
  ASSERT_EQ(observed.warnings.size(), 1U);
  EXPECT_FALSE(contains(observed.warnings[0], "no key pairs")) << observed.warnings[0];
  EXPECT_TRUE(contains(observed.warnings[0], "l00h00q")) << observed.warnings[0];
  // Which documents these queries share with the other head is not known, so neither is the model's error.
  EXPECT_TRUE(run.model_without_group.overall.empty());
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
  const RunResult run = run_analysis(prepare_run(config), config, {.workers = 1, .stop = stop.get_token()}, observer);
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
  const RunResult run = run_analysis(prepare_run(config), config, {.workers = 3, .stop = stop.get_token()}, observer);
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
  const RunResult run = run_analysis(prepare_run(config), config, {.workers = 2, .stop = stop.get_token()}, observer);
  EXPECT_FALSE(run.interrupted);
  EXPECT_EQ(run.results.size(), 2U);
}

// The jackknife error of the definition.
double error_of(const std::vector<double>& without_group) {
  double mean = 0;
  for (const double value : without_group) mean += value / static_cast<double>(without_group.size());
  double squares = 0;
  for (const double value : without_group) squares += (value - mean) * (value - mean);
  return std::sqrt(squares * static_cast<double>(without_group.size() - 1) / static_cast<double>(without_group.size()));
}

std::vector<double> mean_over_heads(const std::vector<std::vector<double>>& heads) {
  std::vector<double> mean(heads.front().size());
  for (std::size_t g = 0; g < mean.size(); ++g) {
    for (const std::vector<double>& head : heads) mean[g] += head[g] / static_cast<double>(heads.size());
  }
  return mean;
}

void expect_near(const std::vector<double>& values, const std::vector<double>& expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-14) << i;
}

TEST(ModelError, IsTheJackknifeOfTheMeanOverHeadsThatShareTheirExamples) {
  const SmallDump dump(2, 4, 2);
  Observed observed;
  const RunResult run = run_of(dump.config(), 2, observed);
  std::vector<std::vector<double>> heads;
  for (const WithoutGroup& head : run.without_group) {
    ASSERT_EQ(head.overall.size(), 6U);
    heads.push_back(head.overall);
  }
  expect_near(run.model_without_group.overall, mean_over_heads(heads));
  EXPECT_NEAR(summarize_model("ap_overall", run.results, run.model_without_group.overall).error,
              error_of(mean_over_heads(heads)), 1e-14);
  EXPECT_TRUE(observed.notes.empty());
}

// `without_group` of every head over the groups of the given examples, each from its files.
std::vector<std::vector<double>> measured_over(const SmallDump& dump, const RunResult& run, const RunConfig& config,
                                               const Examples& examples) {
  std::vector<std::vector<double>> heads;
  for (const HeadResult& result : run.results) {
    const HeadId head = result.head;
    const OrientedKeys keys = orient_keys(
        KeptRows(read_head_file(dump.file(Side::key, head.layer, head.k_head), Side::key).rows), config.analysis);
    HeadRows queries = read_head_file(dump.file(Side::query, head.layer, head.q_head), Side::query).rows;
    heads.push_back(measure_head(head, KeptRows(std::move(queries)), keys, config.analysis, {nullptr, examples})
                        .without_group.overall);
  }
  return heads;
}

TEST(ModelError, LeavesTheSameDocumentsOutOfHeadsWithDifferentExamples) {
  const SmallDump dump(1, 3, 3);
  dump.write(Side::query, 0, 0, small_rows(1, {1, 2, 3, 4, 5, 6}));
  dump.write(Side::key, 0, 0, small_rows(2, {1, 2, 3, 4, 5, 6}));
  dump.write(Side::query, 0, 1, small_rows(3, {4, 5, 6, 7, 8, 9}));
  dump.write(Side::key, 0, 1, small_rows(4, {5, 6, 7, 8, 9}));
  dump.write(Side::query, 0, 2, small_rows(5, {1, 2, 3, 4, 5}));
  dump.write(Side::key, 0, 2, small_rows(6, {5, 6, 7, 8, 9}));
  const RunConfig config = dump.config();
  for (const int workers : {1, 3}) {
    Observed observed;
    const RunResult run = run_of(config, workers, observed);
    const auto heads = measured_over(dump, run, config, {1, 2, 3, 4, 5, 6, 7, 8, 9});
    ASSERT_EQ(heads.size(), 3U);
    ASSERT_EQ(heads.front().size(), 9U);
    expect_near(run.model_without_group.overall, mean_over_heads(heads));
    EXPECT_NEAR(summarize_model("ap_overall", run.results, run.model_without_group.overall).error,
                error_of(mean_over_heads(heads)), 1e-14);
    EXPECT_EQ(observed.notes, std::vector<std::string>{"2 heads were captured on other examples than the rest; "
                                                       "measuring them again for the error of the model"});
    // The second measurement is not reported as heads that ended.
    EXPECT_EQ(observed.ended.size(), 3U);
    // Values without a group are those of the common groups; the error of a head is that of its own examples.
    EXPECT_EQ(run.examples, (Examples{1, 2, 3, 4, 5, 6, 7, 8, 9}));
    for (std::size_t i = 0; i < heads.size(); ++i) expect_near(run.without_group[i].overall, heads[i]);
    const auto own = measured_over(dump, run, config, {1, 2, 3, 4, 5, 6});
    EXPECT_NEAR(run.results[0].plasticity_error, error_of(own[0]), 1e-14);
  }
}

TEST(ModelError, DoesNotMindExamplesOfHeadsWithoutAValue) {
  const SmallDump dump(1, 2, 2);
  // One key an example and bucket: no pairs.
  HeadRows single = small_rows(1, {70, 80});
  for (std::size_t i = 0; i < single.size(); ++i) single.example[i] = 100 + i;
  dump.write(Side::query, 0, 1, single);
  dump.write(Side::key, 0, 1, single);
  Observed observed;
  const RunResult run = run_of(dump.config(), 1, observed);
  ASSERT_EQ(run.results.size(), 2U);
  EXPECT_TRUE(std::isnan(run.results[1].plasticity.overall));
  EXPECT_EQ(run.model_without_group.overall, run.without_group[0].overall);
  EXPECT_TRUE(observed.notes.empty());
}

TEST(ModelError, IsUnknownWithFewerThanThreeExamplesOrWithoutStandardErrors) {
  const SmallDump dump(1, 1, 1);
  const RunResult off = run_of(dump.config({{"--standard_errors", "false"}}));
  EXPECT_TRUE(off.model_without_group.overall.empty());
  dump.write(Side::query, 0, 0, small_rows(1, {1, 2}));
  dump.write(Side::key, 0, 0, small_rows(2, {1, 2}));
  const RunResult few = run_of(dump.config());
  EXPECT_FALSE(std::isnan(few.results.at(0).plasticity.overall));
  EXPECT_TRUE(std::isnan(few.results.at(0).plasticity_error));
  EXPECT_TRUE(few.model_without_group.overall.empty());
}

TEST(ModelError, StopDuringTheSecondMeasurementInterruptsTheRun) {
  const SmallDump dump(1, 2, 2);
  dump.write(Side::query, 0, 1, small_rows(3, {0, 1, 2, 3, 4, 5, 6, 7}));
  const RunConfig config = dump.config();
  std::stop_source stop;
  std::vector<std::string> notes;
  const RunObserver observer{[](const HeadEvent&) {},
                             [&](const std::string& note) {
                               notes.push_back(note);
                               stop.request_stop();
                             }};
  const RunResult run = run_analysis(prepare_run(config), config, {.workers = 1, .stop = stop.get_token()}, observer);
  const std::vector<std::string> expected{
      "1 head was captured on other examples than the rest; measuring it again for the error of the model"};
  EXPECT_EQ(notes, expected);
  EXPECT_EQ(run.results.size(), 2U);
  EXPECT_TRUE(run.interrupted);
  EXPECT_TRUE(run.model_without_group.overall.empty());
}

}  // namespace
}  // namespace attention_plasticity

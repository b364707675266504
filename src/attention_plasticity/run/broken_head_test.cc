// What a run does about heads whose rows are broken, incomplete or missing.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "attention_plasticity/run/analysis_run.h"
#include "attention_plasticity/run/results.h"
#include "attention_plasticity/run/small_dump_testing.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

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

}  // namespace
}  // namespace attention_plasticity

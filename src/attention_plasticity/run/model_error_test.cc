// The error of the mean over all heads of a run.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "attention_plasticity/analysis/head_analysis.h"
#include "attention_plasticity/dump/head_file.h"
#include "attention_plasticity/results/summary.h"
#include "attention_plasticity/run/analysis_run.h"
#include "attention_plasticity/run/small_dump_testing.h"

namespace attention_plasticity {
namespace {

using Examples = std::vector<std::uint64_t>;

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

// The leave-one-out values of every head for these reference documents, each from its files.
std::vector<WithoutGroup> measured_with(const SmallDump& dump, const RunResult& run, const RunConfig& config,
                                        const Examples& reference) {
  const RunGroups groups(ranges_of(reference));
  std::vector<WithoutGroup> heads;
  for (const HeadResult& result : run.results) {
    const HeadId head = result.head;
    const OrientedKeys keys = orient_keys(
        KeptRows(read_head_file(dump.file(Side::key, head.layer, head.k_head), Side::key).rows), config.analysis);
    HeadRows queries = read_head_file(dump.file(Side::query, head.layer, head.q_head), Side::query).rows;
    heads.push_back(
        measure_head(head, KeptRows(std::move(queries)), keys, config.analysis, {nullptr, &groups}).without_group);
  }
  return heads;
}

TEST(ModelError, LeavesOutTheGroupsOfTheFirstHeadsDocumentsThatAllHeadsHave) {
  const SmallDump dump(1, 3, 3);
  dump.write(Side::query, 0, 0, small_rows(1, {1, 2, 3, 4, 5, 6}));
  dump.write(Side::key, 0, 0, small_rows(2, {1, 2, 3, 4, 5, 6}));
  dump.write(Side::query, 0, 1, small_rows(3, {4, 5, 6, 7, 8, 9}));
  dump.write(Side::key, 0, 1, small_rows(4, {5, 6, 7, 8, 9}));
  dump.write(Side::query, 0, 2, small_rows(5, {1, 2, 3, 4, 5}));
  dump.write(Side::key, 0, 2, small_rows(6, {1, 2, 3, 4, 5}));
  const RunConfig config = dump.config();
  for (const int workers : {1, 3}) {
    Observed observed;
    const RunResult run = run_of(config, workers, observed);
    const std::vector<WithoutGroup> heads = measured_with(dump, run, config, {1, 2, 3, 4, 5, 6});
    ASSERT_EQ(heads.size(), 3U);
    // Documents 1 to 6 are groups 0 to 5; 7, 8 and 9 are groups 1, 2 and 3.
    EXPECT_EQ(heads[0].groups, (std::vector<std::size_t>{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(heads[1].groups, (std::vector<std::size_t>{1, 2, 3, 4, 5}));
    EXPECT_EQ(heads[2].groups, (std::vector<std::size_t>{0, 1, 2, 3, 4}));
    for (std::size_t i = 0; i < heads.size(); ++i) {
      EXPECT_EQ(run.without_group[i].groups, heads[i].groups);
      expect_near(run.without_group[i].overall, heads[i].overall);
      EXPECT_NEAR(run.results[i].plasticity_error, error_of(heads[i].overall), 1e-14);
    }
    EXPECT_EQ(run.group_count, 6U);
    EXPECT_EQ(run.model_without_group.groups, (std::vector<std::size_t>{1, 2, 3, 4}));
    std::vector<std::vector<double>> shared;
    for (const WithoutGroup& head : heads) {
      const auto first = head.overall.begin() + (head.groups.front() == 0 ? 1 : 0);
      shared.emplace_back(first, first + 4);
    }
    expect_near(run.model_without_group.overall, mean_over_heads(shared));
    EXPECT_NEAR(summarize_model("ap_overall", run.results, run.model_without_group.overall).error,
                error_of(mean_over_heads(shared)), 1e-14);
    EXPECT_TRUE(observed.notes.empty());
    EXPECT_EQ(observed.ended.size(), 3U) << "no head is measured twice";
    EXPECT_EQ(run.examples, (Examples{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  }
}

TEST(ModelError, TakesTheDocumentsOfTheFirstHeadThatCanBeRead) {
  const SmallDump dump(1, 2, 2);
  write_text(dump.file(Side::query, 0, 0), "not parquet");
  dump.write(Side::query, 0, 1, small_rows(3, {3, 4, 5, 6}));
  dump.write(Side::key, 0, 1, small_rows(4, {3, 4, 5, 6}));
  const RunResult run = run_of(dump.config());
  EXPECT_EQ(run.group_count, 4U);
  EXPECT_EQ(run.without_group.at(0).groups, (std::vector<std::size_t>{0, 1, 2, 3}));
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

}  // namespace
}  // namespace attention_plasticity

#include "attention_plasticity/compare/comparison.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>

#include "attention_plasticity/base/refusal_testing.h"
#include "attention_plasticity/compare/random_run_testing.h"
#include "attention_plasticity/stats/student.h"

namespace attention_plasticity {
namespace {

// The definition, written out.
double naive_error(const std::vector<double>& without) {
  const auto count = static_cast<double>(without.size());
  double mean = 0;
  for (const double value : without) mean += value / count;
  double squares = 0;
  for (const double value : without) squares += (value - mean) * (value - mean);
  return std::sqrt((count - 1) / count * squares);
}

TEST(Compare, PairsTheGroupsOfTheSameDocuments) {
  const ComparedRun a = random_run(1);
  const ComparedRun b = random_run(2);
  const Comparison comparison = compare(a, b);
  EXPECT_TRUE(comparison.paired);
  ASSERT_EQ(comparison.columns.size(), 1U);
  const ColumnComparison& column = comparison.columns.front();
  const GroupValues& groups_a = *a.groups_of("ap_exact");
  const GroupValues& groups_b = *b.groups_of("ap_exact");
  std::vector<double> model(random_run_groups);
  for (std::size_t i = 0; i < column.heads.size(); ++i) {
    std::vector<double> differences;
    for (std::size_t g = 0; g < random_run_groups; ++g) {
      differences.push_back(groups_b[i].values[g] - groups_a[i].values[g]);
      model[g] += differences.back() / static_cast<double>(column.heads.size());
    }
    const HeadDifference& head = column.heads[i];
    EXPECT_DOUBLE_EQ(head.difference, head.b - head.a);
    EXPECT_NEAR(head.error, naive_error(differences), 1e-15);
    EXPECT_NEAR(head.z, head.difference / head.error, 1e-12);
    EXPECT_NEAR(head.p, student_p(head.z, random_run_groups - 1), 1e-15);
  }
  EXPECT_NEAR(column.model.error, naive_error(model), 1e-15);
}

TEST(Compare, AddsTheErrorsOfDifferentDocuments) {
  const Comparison comparison = compare(random_run(1), random_run(2, 2, "other"));
  EXPECT_FALSE(comparison.paired);
  for (const HeadDifference& head : comparison.columns.front().heads) {
    EXPECT_NEAR(head.error, 0.05 * std::sqrt(2), 1e-15);
    EXPECT_NEAR(head.p, student_p(head.z, random_run_groups - 1), 1e-15);
  }
}

TEST(Compare, OfARunWithItselfIsZero) {
  const ComparedRun run = random_run(3);
  const Comparison comparison = compare(run, run);
  const ColumnComparison& column = comparison.columns.front();
  EXPECT_EQ(column.model.difference, 0);
  EXPECT_EQ(column.up + column.down, 0U);
  EXPECT_EQ(column.rank_correlation, 1);
  for (const HeadDifference& head : column.heads) {
    EXPECT_EQ(head.difference, 0);
    EXPECT_EQ(head.error, 0);
    EXPECT_TRUE(std::isnan(head.z) && std::isnan(head.p) && std::isnan(head.q));
  }
}

RC_GTEST_PROP(Compare, TurnsItsSignWithTheOrder, (unsigned seed, bool paired)) {
  const ComparedRun a = random_run(seed);
  const ComparedRun b = random_run(seed + 1, 2, paired ? "same" : "other");
  const ColumnComparison forth = compare(a, b).columns.front();
  const ColumnComparison back = compare(b, a).columns.front();
  const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value); };
  for (std::size_t i = 0; i < forth.heads.size(); ++i) {
    RC_ASSERT(bits(forth.heads[i].difference) == bits(-back.heads[i].difference));
    RC_ASSERT(bits(forth.heads[i].error) == bits(back.heads[i].error));
    RC_ASSERT(bits(forth.heads[i].z) == bits(-back.heads[i].z));
    RC_ASSERT(bits(forth.heads[i].q) == bits(back.heads[i].q));
  }
  RC_ASSERT(bits(forth.model.difference) == bits(-back.model.difference));
  RC_ASSERT(bits(forth.model.error) == bits(back.model.error));
  RC_ASSERT(forth.up == back.down && forth.down == back.up);
}

TEST(Compare, MatchesHeadsThatBothHave) {
  const ComparedRun a = random_run(1, 3);
  ComparedRun b = random_run(1, 2);
  b.description.num_layers = 3;  // the run measured the first two layers only
  const Comparison comparison = compare(a, b);
  EXPECT_EQ(comparison.matched, 8U);
  EXPECT_EQ(comparison.only_a, 4U);
  EXPECT_EQ(comparison.only_b, 0U);
}

TEST(Compare, OtherColumnsHaveNoErrors) {
  ComparisonOptions options;
  options.columns = {"slope_norm"};
  const Comparison comparison = compare(random_run(1), random_run(2), options);
  const ColumnComparison& column = comparison.columns.front();
  EXPECT_FALSE(column.has_errors);
  EXPECT_FALSE(std::isnan(column.model.difference));
  EXPECT_TRUE(std::isnan(column.model.error));
  EXPECT_TRUE(std::isnan(column.heads.front().error));
}

TEST(Compare, RefusesModelsOfOtherShapes) {
  EXPECT_EQ(refusal([] { compare(random_run(1, 2), random_run(1, 3, "deep")); }),
            "input: rundeep: cannot be compared with runsame, since heads are matched by layer and number: toy has 3 "
            "layers of 4 query heads and 2 key heads of 64 components, and toy has 2 layers of 4 query heads and 2 key "
            "heads of 64 components");
}

TEST(Compare, RefusesColumnsThatDoNotExist) {
  ComparisonOptions options;
  options.columns = {"ap_exakt"};
  EXPECT_TRUE(refusal([&] { compare(random_run(1), random_run(2), options); }).starts_with("usage: "));
}

TEST(Compare, NamesWhatElseDiffers) {
  ComparedRun a = random_run(1);
  ComparedRun b = random_run(2);
  a.settings = {{"method", "\"full\""}, {"seed", "0"}};
  b.settings = {{"method", "\"full\""}, {"seed", "1"}};
  b.description.model = "tuned";
  b.description.sampling = BucketSampling{true, {}};
  const Comparison comparison = compare(a, b);
  ASSERT_EQ(comparison.caveats.size(), 3U);
  EXPECT_EQ(comparison.caveats[0], "the models have different names: toy and tuned");
  EXPECT_EQ(comparison.caveats[1],
            "positions were sampled in different ways, so a difference may come from which positions were captured");
  EXPECT_EQ(comparison.caveats[2], "the runs were made with different settings: `seed` is 0 and 1");
}

}  // namespace
}  // namespace attention_plasticity

#include "attention_plasticity/analyze_head.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "attention_plasticity/base/refusal_testing.h"
#include "attention_plasticity/plasticity/random_rows_testing.h"

namespace attention_plasticity {
namespace {

constexpr HeadId some_head{1, 2, 0};

HeadRows some_rows(std::uint64_t seed) {
  NumpyGenerator generator(seed);
  return random_rows(8, 24, 96, 24, 4, generator);
}

const Rotation& some_rotation() {
  static const Rotation rotation{RotaryLayout::half, {1.0, 0.1}, 1.0};
  return rotation;
}

void expect_same(const HeadResult& a, const HeadResult& b) {
  EXPECT_EQ(a.plasticity.overall, b.plasticity.overall);
  EXPECT_EQ(a.plasticity_error, b.plasticity_error);
  EXPECT_EQ(a.exact->overall, b.exact->overall);
  EXPECT_EQ(a.exact_error, b.exact_error);
  EXPECT_EQ(a.component_weight, b.component_weight);
}

TEST(AnalyzeHead, SharesPreparedKeysAmongQueryHeads) {
  const HeadRows queries = some_rows(1);
  const HeadRows keys = some_rows(2);
  const PreparedKeys prepared(keys, {});
  expect_same(analyze_head(some_head, queries, prepared, {}, &some_rotation()),
              analyze_head(some_head, queries, keys, {}, &some_rotation()));
}

// A tensor of (rows, heads, components): the rows of one head do not adjoin.
TEST(AnalyzeHead, ReadsRowsThatDoNotAdjoin) {
  const HeadRows queries = some_rows(1);
  const HeadRows keys = some_rows(2);
  const auto spread = [](const HeadRows& rows, std::vector<float>& memory) {
    constexpr std::size_t stride = 7;
    memory.assign(rows.size() * stride, std::numeric_limits<float>::quiet_NaN());
    for (std::size_t i = 0; i < rows.size(); ++i) std::ranges::copy(rows.row(i), &memory[i * stride]);
    RowsView view = rows;
    view.vectors = std::span(memory).first((rows.size() - 1) * stride + rows.width);
    view.row_stride = stride;
    return view;
  };
  std::vector<float> query_memory;
  std::vector<float> key_memory;
  expect_same(analyze_head(some_head, spread(queries, query_memory), spread(keys, key_memory), {}, &some_rotation()),
              analyze_head(some_head, queries, keys, {}, &some_rotation()));
}

TEST(AnalyzeHead, RefusesValuesThatCannotBe) {
  const HeadRows keys = some_rows(2);
  const auto refused = [&](const auto& spoil) {
    HeadRows queries = some_rows(1);
    spoil(queries);
    return refusal([&] { analyze_head(some_head, queries, keys); });
  };
  EXPECT_EQ(refused([](HeadRows& rows) { rows.vectors[5] = std::nanf(""); }),
            "input: row 1 of the queries: the vector has a NaN or an infinity in it");
  EXPECT_EQ(refused([](HeadRows& rows) { rows.position[2] = -1; }),
            "input: row 2 of the queries: the position is negative or not finite");
  EXPECT_EQ(refused([](HeadRows& rows) { rows.position[2] = std::nan(""); }),
            "input: row 2 of the queries: the position is negative or not finite");
  EXPECT_EQ(refused([](HeadRows& rows) { rows.bucket[0] = -1; }),
            "input: row 0 of the queries: the bucket is negative");
  EXPECT_EQ(refused([](HeadRows& rows) { rows.example[3] = std::uint64_t{1} << 63U; }),
            "input: row 3 of the queries: the example is 2^63 or more");
  EXPECT_EQ(refused([](HeadRows& rows) { rows.window = -1; }),
            "input: the sliding window of the queries is negative or not a number");
  EXPECT_EQ(
      refused([](HeadRows& rows) { rows.vectors.push_back(0); }),
      "input: the columns of the queries differ in length: 192 positions, 192 buckets, 192 examples, 769 values of 4 "
      "components");
  EXPECT_EQ(refused([](HeadRows& rows) { rows.width = 0; }), "input: the queries have no components");
  RowsView narrow = keys;
  narrow.row_stride = 3;
  EXPECT_TRUE(
      refusal([&] { PreparedKeys(narrow, {}); }).starts_with("input: the columns of the keys differ in length"));
}

TEST(AnalyzeHead, RefusesOptionsOutOfRange) {
  const HeadRows rows = some_rows(1);
  const auto refused = [&](const AnalysisOptions& options) {
    return refusal([&] { analyze_head(some_head, rows, rows, options); });
  };
  EXPECT_EQ(refused({.max_tokens_per_head = 0}), "usage: `max_tokens_per_head`: should be at least 1");
  EXPECT_EQ(refused({.p_alpha = 1}), "usage: `p_alpha`: should lie between 0 and 1 (exclusive)");
  EXPECT_EQ(refused({.num_pairs_per_bucket = 0}), "usage: `num_pairs_per_bucket`: should be at least 1");
  EXPECT_EQ(refused({.max_relative_distance = std::nan("")}),
            "usage: `max_relative_distance`: should be greater than 0 and at most 1");
  Rotation wide = some_rotation();
  wide.frequency.push_back(1);
  EXPECT_EQ(refusal([&] { analyze_head(some_head, rows, rows, {}, &wide); }),
            "input: the rotation has 6 components, but the vectors have 4; both must be of the same model");
}

TEST(AnalyzeHead, HasNoPlasticityWithoutExamples) {
  HeadRows queries = some_rows(1);
  HeadRows keys = some_rows(2);
  queries.example.clear();
  keys.example.clear();
  const HeadResult result = analyze_head(some_head, queries, keys, {}, &some_rotation());
  EXPECT_TRUE(std::isnan(result.plasticity.overall));
  EXPECT_TRUE(std::isnan(result.exact->overall));
  EXPECT_TRUE(result.examples.empty());
}

}  // namespace
}  // namespace attention_plasticity

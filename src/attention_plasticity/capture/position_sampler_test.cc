#include "attention_plasticity/capture/position_sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "attention_plasticity/base/refusal_testing.h"
#include "attention_plasticity/dump/head_file.h"
#include "places.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

const fs::path examples = source_folder() / "examples";

CaptureSettings settings_of(Sampling sampling, std::size_t bucket_size, double rows_per_bucket) {
  CaptureSettings settings;
  settings.sampling = sampling;
  settings.bucket_size = bucket_size;
  settings.rows_per_bucket = rows_per_bucket;
  return settings;
}

// The rows of one document of a file.
SampledPositions rows_of(const HeadTokens& tokens, std::uint64_t document) {
  SampledPositions rows;
  for (std::size_t i = 0; i < tokens.position.size(); ++i) {
    if (tokens.example[i] != document) continue;
    rows.positions.push_back(static_cast<std::int64_t>(tokens.position[i]));
    rows.buckets.push_back(tokens.bucket[i]);
  }
  return rows;
}

// The public tool made this dump with a rate of 5.34 in buckets of 256 tokens.
TEST(PositionSampler, GivesThePositionsOfTheExampleDump) {
  const CaptureSettings settings = settings_of(Sampling::uniform, 256, 5.34);
  const DumpLayout dump = find_heads(examples / "minidoc-qwen3", "");
  std::size_t documents = 0;
  for (const Side side : {Side::query, Side::key}) {
    for (const HeadNumber head : side == Side::query ? dump.queries : dump.keys) {
      const HeadTokens tokens = read_head_tokens(dump.file(side, head), side);
      for (const std::uint64_t document : std::set(tokens.example.begin(), tokens.example.end())) {
        const SampledPositions rows = rows_of(tokens, document);
        const auto length = static_cast<std::size_t>(rows.positions.back()) + 1;
        const SampledPositions sampled = sampled_positions(settings, length, document, head.layer, side);
        ASSERT_EQ(sampled.positions, rows.positions) << head.layer << " " << document;
        ASSERT_EQ(sampled.buckets, rows.buckets);
        ++documents;
      }
    }
  }
  EXPECT_EQ(documents, 16 * dump.queries.size() + 16 * dump.keys.size());
}

// Rows were taken out of this one afterwards, so that it is small.
TEST(PositionSampler, GivesAllPositionsOfTheThinnedExampleDump) {
  const CaptureSettings settings = settings_of(Sampling::uniform, 128, 16);
  const DumpLayout dump = find_heads(examples / "smollm2-135m", "");
  for (const HeadNumber head : dump.queries) {
    const HeadTokens tokens = read_head_tokens(dump.file(Side::query, head), Side::query);
    for (const std::uint64_t document : std::set(tokens.example.begin(), tokens.example.end())) {
      const SampledPositions rows = rows_of(tokens, document);
      const auto length = static_cast<std::size_t>(rows.positions.back()) + 1;
      const SampledPositions sampled = sampled_positions(settings, length, document, head.layer, Side::query);
      ASSERT_TRUE(std::ranges::includes(sampled.positions, rows.positions)) << head.layer << " " << document;
    }
  }
}

TEST(PositionSampler, KeepsAllPositionsIfAsked) {
  const SampledPositions all = sampled_positions(settings_of(Sampling::all, 4, 1), 6, 0, 0, Side::key);
  EXPECT_EQ(all.positions, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(all.buckets, (std::vector<std::int64_t>{0, 0, 0, 0, 1, 1}));
}

TEST(PositionSampler, CountsLogarithmicBucketsFromTheSmallest) {
  const CaptureSettings settings = settings_of(Sampling::log_uniform, 5, 1);
  EXPECT_EQ(effective_bucket_size(settings), 8U);
  EXPECT_EQ(bucket_of(settings, 0), 3);
  EXPECT_EQ(bucket_of(settings, 14), 3);
  EXPECT_EQ(bucket_of(settings, 15), 4);
  EXPECT_EQ(bucket_of(settings, 30), 4);
  EXPECT_EQ(bucket_of(settings, 31), 5);
  EXPECT_EQ(bucket_of(settings_of(Sampling::log_uniform, 1, 1), 0), 0);
  EXPECT_EQ(bucket_of(settings_of(Sampling::log_uniform, 1, 1), 1), 1);
  EXPECT_EQ(effective_bucket_size(settings_of(Sampling::uniform, 5, 1)), 5U);
}

// Means over documents are within four standard errors of what is expected.
TEST(PositionSampler, KeepsAsManyRowsOfEachBucketAsAskedFor) {
  constexpr std::size_t length = 1023;
  constexpr std::uint64_t documents = 400;
  for (const Sampling sampling : {Sampling::uniform, Sampling::log_uniform}) {
    const CaptureSettings settings = settings_of(sampling, 64, 6);
    std::map<std::int64_t, double> rows;
    for (std::uint64_t document = 0; document < documents; ++document) {
      for (const std::int64_t bucket : sampled_positions(settings, length, document, 2, Side::query).buckets) {
        rows[bucket] += 1.0 / documents;
      }
    }
    // The first logarithmic bucket holds the positions before it too, and the last uniform one lacks one.
    if (sampling == Sampling::log_uniform) rows[6] *= 64.0 / 127;
    for (const auto& [bucket, mean] : rows) EXPECT_NEAR(mean, 6, 4 * std::sqrt(6.0 / documents)) << bucket;
    EXPECT_EQ(rows.size(), sampling == Sampling::uniform ? 16U : 4U);
  }
}

TEST(PositionSampler, DrawsOthersForEachDocumentLayerSideAndSeed) {
  CaptureSettings settings = settings_of(Sampling::uniform, 32, 8);
  const auto positions = [&](std::uint64_t document, int layer, Side side) {
    return sampled_positions(settings, 500, document, layer, side).positions;
  };
  std::set<std::vector<std::int64_t>> different{positions(0, 0, Side::query), positions(1, 0, Side::query),
                                                positions(0, 1, Side::query), positions(0, 0, Side::key)};
  settings.seed = 7;
  different.insert(positions(0, 0, Side::query));
  EXPECT_EQ(different.size(), 5U);
  EXPECT_EQ(positions(0, 0, Side::query), positions(0, 0, Side::query));
}

TEST(PositionSampler, DrawsTheBeginningOfALongDocumentAsThatOfAShortOne) {
  const CaptureSettings settings = settings_of(Sampling::log_uniform, 16, 4);
  const auto part = sampled_positions(settings, 200, 3, 1, Side::key).positions;
  const auto whole = sampled_positions(settings, 900, 3, 1, Side::key).positions;
  EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin()));
}

TEST(PositionSampler, RefusesTextsThatEndInTheFirstBucket) {
  const CaptureSettings settings = settings_of(Sampling::uniform, 128, 4);
  EXPECT_EQ(refusal([&] { require_two_buckets(settings, std::vector<std::size_t>{5, 128}); }),
            "input: no text reaches beyond the first bucket of 128 tokens: the longest has 128; choose longer texts or "
            "a smaller `bucket_size`");
  EXPECT_EQ(refusal([&] { require_two_buckets(settings, std::vector<std::size_t>{129}); }), "nothing");
  EXPECT_EQ(refusal([&] { require_two_buckets(settings_of(Sampling::log_uniform, 100, 4), {}); }),
            "input: no text reaches beyond the first bucket of 128 tokens: the longest has 0; choose longer texts or a "
            "smaller `bucket_size`");
  EXPECT_EQ(refusal([&] { require_rows(0, 7); }),
            "input: layer 7: no position was sampled of any document; choose more texts or a larger `rows_per_bucket`");
}

}  // namespace
}  // namespace attention_plasticity

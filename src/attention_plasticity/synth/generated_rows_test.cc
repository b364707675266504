#include "attention_plasticity/synth/generated_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <vector>

#include "attention_plasticity/synth/context.h"

namespace attention_plasticity {
namespace {

constexpr HeadNumber head{1, 2};

SynthOptions small() {
  SynthOptions options;
  options.rows = 3000;
  options.dim = 10;
  options.buckets = 8;
  return options;
}

TEST(GeneratedRows, StandInOrderOfDocumentAndPosition) {
  SynthOptions options = small();
  options.examples = 7;
  const HeadRows rows = generate_rows(options, Side::query, head);
  const Context context(options);
  ASSERT_EQ(rows.size(), 3000U);
  EXPECT_EQ(rows.vectors.size(), 30000U);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows.bucket[i],
              static_cast<std::int64_t>(context.bucket_of(static_cast<std::uint64_t>(rows.position[i]))));
    if (i == 0) continue;
    EXPECT_TRUE(rows.example[i] == rows.example[i - 1] ? rows.position[i] > rows.position[i - 1]
                                                       : rows.example[i] == rows.example[i - 1] + 1);
  }
  EXPECT_EQ(rows.example.back(), 6U);
}

TEST(GeneratedRows, FewerRowsThanDocumentsFillTheFirst) {
  SynthOptions options = small();
  options.rows = 3;
  EXPECT_EQ(generate_rows(options, Side::key, head).example, (std::vector<std::uint64_t>{0, 1, 2}));
}

TEST(GeneratedRows, DependOnSeedSideLayerAndHead) {
  SynthOptions options = small();
  const auto rows = generate_rows(options, Side::query, head).vectors;
  EXPECT_EQ(generate_rows(options, Side::query, head).vectors, rows);
  EXPECT_NE(generate_rows(options, Side::key, head).vectors, rows);
  EXPECT_NE(generate_rows(options, Side::query, {2, 2}).vectors, rows);
  EXPECT_NE(generate_rows(options, Side::query, {1, 3}).vectors, rows);
  EXPECT_NE(generate_rows(options, Side::query, {2, 1}).vectors, rows);
  options.seed = std::uint64_t{1} << 40;
  EXPECT_NE(generate_rows(options, Side::query, head).vectors, rows);
}

TEST(GeneratedRows, RotationUndoneGivesTheRowsWithoutRotation) {
  for (const Side side : {Side::query, Side::key}) {
    SynthOptions options = small();
    const HeadRows plain = generate_rows(options, side, head);
    options.rope_theta = 10000;
    HeadRows rotated = generate_rows(options, side, head);
    EXPECT_EQ(rotated.position, plain.position);
    EXPECT_NE(rotated.vectors, plain.vectors);
    double worst = 0;
    for (std::size_t i = 0; i < rotated.size(); ++i) {
      // Components k and k + 5 are rotated by position 10000^(-k/5).
      for (std::size_t k = 0; k < 5; ++k) {
        const double angle = rotated.position[i] * std::pow(10000.0, -static_cast<double>(k) / 5);
        const double x = rotated.row(i)[k];
        const double y = rotated.row(i)[k + 5];
        worst = std::max(worst, std::abs(std::cos(angle) * x + std::sin(angle) * y - plain.row(i)[k]));
        worst = std::max(worst, std::abs(std::cos(angle) * y - std::sin(angle) * x - plain.row(i)[k + 5]));
      }
    }
    EXPECT_LT(worst, 2e-6);
  }
}

TEST(GeneratedRows, Bfloat16HaveNoMoreThanEightBits) {
  SynthOptions options = small();
  const HeadRows full = generate_rows(options, Side::query, head);
  options.bfloat16 = true;
  const HeadRows rounded = generate_rows(options, Side::query, head);
  for (std::size_t i = 0; i < full.vectors.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(rounded.vectors[i]) & 0xffffU, 0U);
    ASSERT_LE(std::abs(rounded.vectors[i] - full.vectors[i]), std::abs(full.vectors[i]) * 0x1p-8F);
  }
}

TEST(GeneratedRows, OnlyTheChosenComponentsAreRotated) {
  SynthOptions options = small();
  const HeadRows plain = generate_rows(options, Side::query, head);
  options.rope_theta = 10000;
  options.rope_layout = RotaryLayout::interleaved;
  options.rope_first = 4;
  options.rope_dim = 4;
  const HeadRows rotated = generate_rows(options, Side::query, head);
  for (std::size_t i = 0; i < rotated.size(); ++i) {
    std::vector<double> expected(plain.row(i).begin(), plain.row(i).end());
    Rotation{RotaryLayout::interleaved, {1, 0.01}, 1, 4}.rotate(expected, plain.position[i]);
    for (std::size_t c = 0; c < expected.size(); ++c) ASSERT_NEAR(rotated.row(i)[c], expected[c], 1e-5) << i;
  }
}

TEST(GeneratedRows, DocumentsShiftTheirQueriesTogether) {
  SynthOptions options = small();
  options.rows = 20000;
  options.examples = 500;
  options.slope = options.mean = options.spectrum = 0;
  options.example_effect = 1.5;
  const HeadRows rows = generate_rows(options, Side::query, head);
  std::map<std::uint64_t, std::vector<double>> sums;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto& sum = sums.try_emplace(rows.example[i], options.dim).first->second;
    for (std::size_t c = 0; c < options.dim; ++c) sum[c] += rows.row(i)[c];
  }
  double square = 0;
  for (const auto& [example, sum] : sums) {
    for (const double component : sum) square += component / 40 * (component / 40);
  }
  // 5000 means of 40 rows; the variance of each is 1.5² + 1/40.
  EXPECT_NEAR(square / 5000, 2.275, 4 * 2.275 * std::sqrt(2.0 / 5000));
  // Keys have no shift: keys of a document are compared with each other, so a shift would cancel.
  SynthOptions without = options;
  without.example_effect = 0;
  EXPECT_EQ(generate_rows(options, Side::key, head).vectors, generate_rows(without, Side::key, head).vectors);
}

TEST(GeneratedRows, WindowsAreThoseOfSlidingLayers) {
  SynthOptions options = small();
  EXPECT_EQ(generate_rows(options, Side::query, head).window, std::nullopt);
  options.window = 300;
  EXPECT_EQ(generate_rows(options, Side::query, head).window, 300.0);
  options.sliding_layers = {0};
  EXPECT_EQ(generate_rows(options, Side::query, head).window, std::nullopt);
  EXPECT_EQ(generate_rows(options, Side::query, {0, 0}).window, 300.0);
}

}  // namespace
}  // namespace attention_plasticity
